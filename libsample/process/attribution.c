#include "process/attribution_state.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"

#define GRACE_DEFAULT_NS UINT64_C(10000000000)
#define GRACE_LIVE_NS    UINT64_C(1000000000) /* the kernel is asked before a process is forgotten */
#define CHECKS_A_ROUND   4
#define CGROUP_LOOK_NS   UINT64_C(5000000000) /* between two looks at which cgroups are still there */
#define MAPPINGS_MAX     (1u << 20)           /* of all processes: 40 MiB */
#define INITIAL_PID_NS   0xEFFFFFFC           /* inode of the machine's own pid namespace: PROC_PID_INIT_INO */

static struct mapped_image *
vsyscall_image(struct mapped_images *images)
{
	struct image image = {.kind = IMAGE_VDSO, .path = "[vsyscall]"};

	return mapped_image_get(images, &image);
}

static int
attribution_init(struct attribution *attribution)
{
	const struct attribution_options *options = &attribution->options;

	attribution->images = mapped_images_new(attribution->image_table);
	attribution->cgroups = cgroup_table_new();
	attribution->labels = labels_new();
	attribution->processes = process_table_new();
	if (!attribution->images || !attribution->cgroups || !attribution->labels || !attribution->processes)
		return -ENOMEM;
	attribution->kernel =
		kernel_map_new(options->procfs, options->sysfs, attribution->images, options->kernel, options->log);
	attribution->vsyscall = vsyscall_image(attribution->images);
	if (!attribution->kernel || !attribution->vsyscall)
		return -ENOMEM;
	if (options->tells_code_makers) {
		attribution->makers = code_makers_new(attribution->images, attribution->processes);
		if (!attribution->makers)
			return -ENOMEM;
	}
	attribution->session = 1;
	attribution->budget.limit = MAPPINGS_MAX;
	if (!options->elsewhere)
		vdso_identity_read(&attribution->vdso);
	return 0;
}

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct attribution *
attribution_new(const struct attribution_options *options, struct image_table *images, struct context_table *contexts)
{
	struct attribution *attribution = calloc(1, sizeof(*attribution));

	if (!attribution)
		return NULL;
	attribution->options = *options;
	attribution->grace_ns = options->exit_grace_ns ? options->exit_grace_ns : GRACE_DEFAULT_NS;
	if (!attribution->options.clock_ns)
		attribution->options.clock_ns = monotonic_ns;
	attribution->image_table = images;
	attribution->context_table = contexts;
	if (attribution_init(attribution)) {
		attribution_free(attribution);
		errno = ENOMEM;
		return NULL;
	}
	return attribution;
}

void
attribution_free(struct attribution *attribution)
{
	if (!attribution)
		return;
	code_makers_free(attribution->makers);
	process_table_free(attribution->processes);
	labels_waiting_fini(&attribution->waiting);
	labels_free(attribution->labels);
	cgroup_table_free(attribution->cgroups);
	kernel_map_free(attribution->kernel);
	mapped_image_release(attribution->vsyscall);
	address_space_release(attribution->finding.newer);
	family_fini(&attribution->finding.family);
	mapped_images_free(attribution->images);
	free(attribution->places);
	free(attribution);
}

static bool
is_nested(const char *procfs)
{
	char path[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%s/self/ns/pid", procfs) >= (int)sizeof(path) || stat(path, &status) != 0)
		return false;
	return status.st_ino != INITIAL_PID_NS;
}

void
attribution_renew(struct attribution *attribution, struct image_table *images, struct context_table *contexts)
{
	attribution->image_table = images;
	attribution->context_table = contexts;
	mapped_images_renew(attribution->images, images);
	free(attribution->places);
	attribution->places = NULL;
	attribution->place_capacity = 0;
	attribution->file_count = 0;
	if (++attribution->session == 0)
		attribution->session = 1;
}

int
attribution_begin(struct attribution *attribution)
{
	const struct attribution_options *options = &attribution->options;
	int err;

	attribution->live = true;
	if (options->exit_grace_ns == 0)
		attribution->grace_ns = GRACE_LIVE_NS;
	attribution->nested = is_nested(options->procfs);
	err = kernel_map_scan(attribution->kernel);
	if (err)
		return err;
	err = cgroup_table_scan(attribution->cgroups, options->cgroupfs);
	if (err == -ENOMEM)
		return err;
	if (err)
		log_write(options->log, LOG_LEVEL_WARNING, "%s: %s: cgroups made before now will have no name",
		          options->cgroupfs, error_text(err));
	attribution->sees_cgroups = cgroup_table_sees_all(options->cgroupfs);
	return 0;
}

void
attribution_say_refused(const struct attribution *attribution, unsigned count, const struct log *log)
{
	log_write(log, LOG_LEVEL_WARNING,
	          "%s: not allowed to read the mappings of %u process%s (CAP_SYS_PTRACE): samples of what they mapped "
	          "before now will be unknown",
	          attribution->options.procfs, count, count == 1 ? "" : "es");
}

struct kallsyms_copy *
attribution_take_symbols(struct attribution *attribution)
{
	return kernel_map_take_symbols(attribution->kernel);
}

void
attribution_miss_records(struct attribution *attribution)
{
	attribution->records_missed = true;
}

/* No process has this pid, not even one of which only the main thread has ended. A signal that is none may be asked for
 * of anybody, and tells. */
static bool
is_gone(const struct process *process)
{
	return process->pid <= INT_MAX && tgkill((pid_t)process->pid, (pid_t)process->pid, 0) != 0 && errno == ESRCH;
}

/*
 * A lost record of an end would leave its process here for ever. So the kernel is asked whether a few of those that
 * should live do, in turn.
 */
static void
check_living(struct attribution *attribution, uint64_t time_ns)
{
	for (unsigned i = 0; i < CHECKS_A_ROUND; i++) {
		struct process *process = process_next_living(attribution->processes);

		if (!process)
			return;
		if (is_gone(process)) {
			process_end(attribution->processes, process, time_ns);
			attribution->label_changes += process->label || process->label_at_exec;
		}
		process_count_label(process, time_ns);
	}
}

/* A main thread may end long before the others do. */
static void
forget_ended(struct attribution *attribution, uint64_t now_ns)
{
	const uint64_t until_ns = now_ns - attribution->grace_ns;
	struct process *process;

	while ((process = process_expired(attribution->processes, until_ns))) {
		if (attribution->live && !process->one_thread && !is_gone(process))
			process_go_on(attribution->processes, process, now_ns);
		else
			process_forget(attribution->processes, process);
	}
}

static void
forget_cgroups(struct attribution *attribution, uint64_t now_ns)
{
	if (!attribution->sees_cgroups || now_ns < attribution->cgroups_looked_ns + CGROUP_LOOK_NS)
		return;
	attribution->cgroups_looked_ns = now_ns;
	cgroup_table_expire(attribution->cgroups, attribution->options.cgroupfs, now_ns, attribution->grace_ns);
}

void
attribution_expire(struct attribution *attribution, uint64_t now_ns)
{
	if (attribution->live) {
		check_living(attribution, now_ns);
		forget_cgroups(attribution, now_ns);
	}
	if (now_ns >= attribution->grace_ns)
		forget_ended(attribution, now_ns);
}

bool
attribution_take_code_maker(struct attribution *attribution, struct code_maker *maker)
{
	return attribution->makers && code_makers_take(attribution->makers, maker);
}

void
attribution_renew_code(struct attribution *attribution, uint32_t pid, uint64_t generation)
{
	if (attribution->makers)
		code_makers_renew(attribution->makers, pid, generation);
}

void
attribution_stats(const struct attribution *attribution, struct attribution_stats *stats)
{
	stats->processes = process_table_size(attribution->processes);
	stats->mappings = attribution->budget.used;
	stats->images = image_table_count(attribution->image_table);
	stats->contexts = context_table_count(attribution->context_table);
	stats->is_full =
		image_table_is_full(attribution->image_table) || context_table_is_full(attribution->context_table);
	stats->cgroups = cgroup_table_size(attribution->cgroups);
	stats->scan_ns = attribution->scan_ns;
}
