#include "process/attribution.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "process/address_space.h"
#include "process/cgroup_table.h"
#include "process/image_of_mapping.h"
#include "process/kernel_map.h"
#include "process/proc_scan.h"
#include "process/process_table.h"

#define GRACE_DEFAULT_NS UINT64_C(10000000000)
#define MAPPINGS_MAX     (1u << 20) /* of all processes: 40 MiB */
#define HUGE_PAGE_SIZE   (UINT64_C(2) << 20)
#define OFFSET_MAX       ((UINT64_C(1) << 44) - 1) /* the database's blocks end here */
#define VSYSCALL_START   UINT64_C(0xffffffffff600000)
#define VSYSCALL_SIZE    UINT64_C(0x1000)
#define PID_IDLE         0
#define PID_FOREIGN      UINT32_MAX

struct attribution {
	struct attribution_options options;
	struct image_table *image_table;
	struct context_table *context_table;
	struct mapped_images *images;
	struct kernel_map *kernel;
	struct cgroup_table *cgroups;
	struct process_table *processes;
	struct mapping_budget budget;
	struct vdso_identity vdso;
	struct mapped_image *vsyscall;
	struct context_cache idle;     /* of the idle task */
	struct context_cache nameless; /* of processes never seen */
	uint64_t scan_ns;
};

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
	attribution->processes = process_table_new();
	if (!attribution->images || !attribution->cgroups || !attribution->processes)
		return -ENOMEM;
	attribution->kernel = kernel_map_new(options->procfs, options->sysfs, attribution->images, options->log);
	attribution->vsyscall = vsyscall_image(attribution->images);
	if (!attribution->kernel || !attribution->vsyscall)
		return -ENOMEM;
	attribution->budget.limit = MAPPINGS_MAX;
	vdso_identity_read(&attribution->vdso);
	return 0;
}

struct attribution *
attribution_new(const struct attribution_options *options, struct image_table *images, struct context_table *contexts)
{
	struct attribution *attribution = calloc(1, sizeof(*attribution));

	if (!attribution)
		return NULL;
	attribution->options = *options;
	if (attribution->options.exit_grace_ns == 0)
		attribution->options.exit_grace_ns = GRACE_DEFAULT_NS;
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
	process_table_free(attribution->processes);
	cgroup_table_free(attribution->cgroups);
	kernel_map_free(attribution->kernel);
	mapped_image_release(attribution->vsyscall);
	mapped_images_free(attribution->images);
	free(attribution);
}

static bool
is_foreign(uint32_t pid)
{
	return pid == PID_IDLE || pid == PID_FOREIGN;
}

/* Text that a program has copied to huge pages: it is still the file's. */
static bool
is_huge_text(const struct process *process, const struct record_mmap *mmap, const struct mapped_image *image)
{
	return mapped_image_kind(image) == IMAGE_ANON && mmap->start % HUGE_PAGE_SIZE == 0 &&
	       mmap->length % HUGE_PAGE_SIZE == 0 &&
	       address_space_is_file(process->space, mmap->start, mmap->start + mmap->length);
}

static int
map_image(struct attribution *attribution, struct process *process, const struct record_mmap *mmap)
{
	struct mapped_image *mapped;
	struct image image;
	char buffer[PATH_MAX];
	uint64_t file_offset;
	int err = 0;

	image_of_mapping(mmap, &attribution->vdso, &image, buffer);
	mapped = mapped_image_get(attribution->images, &image);
	if (!mapped)
		return -ENOMEM;
	file_offset = image.kind == IMAGE_USER ? mmap->file_offset : 0;
	if (!is_huge_text(process, mmap, mapped))
		err = address_space_insert(&process->space, &attribution->budget, mmap->start,
		                           mmap->start + mmap->length, file_offset, mapped);
	mapped_image_release(mapped);
	return err;
}

static int
apply_mmap(struct attribution *attribution, uint32_t pid, const struct record_mmap *mmap)
{
	struct process *process;
	int err;

	if (is_foreign(pid) || mmap->is_data || mmap->length == 0 || mmap->length > UINT64_MAX - mmap->start)
		return 0;
	process = process_ensure(attribution->processes, pid);
	if (!process)
		return -ENOMEM;
	err = map_image(attribution, process, mmap);
	if (err)
		process->incomplete = true;
	return err;
}

static int
apply_comm(struct attribution *attribution, const struct record *record)
{
	const char *comm = record->comm.name ? record->comm.name : "";
	struct process *process;

	if (is_foreign(record->pid))
		return 0;
	if (!record->comm.is_exec && record->tid != record->pid)
		return 0; /* a thread has named itself */
	process = process_ensure(attribution->processes, record->pid);
	if (!process)
		return -ENOMEM;
	if (record->comm.is_exec)
		process_exec(process, comm);
	else
		process_rename(process, comm);
	return 0;
}

static int
apply_fork(struct attribution *attribution, const struct record *record)
{
	struct process *parent, *child;

	if (is_foreign(record->pid))
		return 0;
	if (record->pid == record->task.parent_pid) /* a thread */
		return process_ensure(attribution->processes, record->pid) ? 0 : -ENOMEM;
	child = process_renew(attribution->processes, record->pid);
	if (!child)
		return -ENOMEM;
	parent = process_find(attribution->processes, record->task.parent_pid);
	if (!parent)
		return 0;
	process_rename(child, parent->comm);
	child->space = address_space_share(parent->space);
	child->incomplete = parent->incomplete;
	return 0;
}

static int
apply_exit(struct attribution *attribution, const struct record *record)
{
	struct process *process;

	if (record->tid != record->pid)
		return 0;
	process = process_find(attribution->processes, record->pid);
	if (process)
		process_end(attribution->processes, process, record->time);
	return 0;
}

int
attribution_apply(struct attribution *attribution, const struct record *record)
{
	switch (record->type) {
	case RECORD_MMAP:
		return apply_mmap(attribution, record->pid, &record->mmap);
	case RECORD_COMM:
		return apply_comm(attribution, record);
	case RECORD_FORK:
		return apply_fork(attribution, record);
	case RECORD_EXIT:
		return apply_exit(attribution, record);
	case RECORD_KSYMBOL:
		return kernel_map_apply(attribution->kernel, record);
	case RECORD_CGROUP:
		return cgroup_table_set(attribution->cgroups, record->cgroup.id,
		                        record->cgroup.path ? record->cgroup.path : "");
	default:
		return 0;
	}
}

static int
scan_visit_process(void *context, uint32_t pid, const char *comm)
{
	struct attribution *attribution = context;
	struct process *process = process_renew(attribution->processes, pid);

	if (!process)
		return -ENOMEM;
	process_rename(process, comm);
	return 0;
}

static int
scan_visit_mapping(void *context, uint32_t pid, const struct record_mmap *mmap)
{
	return apply_mmap(context, pid, mmap);
}

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int
attribution_scan(struct attribution *attribution)
{
	const struct attribution_options *options = &attribution->options;
	struct proc_scan_visitor visitor = {
		.process = scan_visit_process, .mapping = scan_visit_mapping, .context = attribution};
	uint64_t start = monotonic_ns();
	int err;

	err = kernel_map_scan(attribution->kernel);
	if (err)
		return err;
	err = cgroup_table_scan(attribution->cgroups, options->cgroupfs);
	if (err == -ENOMEM)
		return err;
	if (err)
		log_write(options->log, LOG_LEVEL_WARNING, "%s: %s: cgroups made before now will have no name",
		          options->cgroupfs, error_text(err));
	err = proc_scan(options->procfs, options->log, &visitor);
	attribution->scan_ns = monotonic_ns() - start;
	return err;
}

static int
intern_context(struct attribution *attribution, struct context_cache *cache, const char *comm, uint64_t cgroup)
{
	struct context context = {.comm = comm, .cgroup = "", .label = ""};
	int err;

	if (cgroup != 0)
		context.cgroup = cgroup_table_find(attribution->cgroups, cgroup);
	err = context_table_intern(attribution->context_table, &context, &cache->number);
	cache->cgroup = cgroup;
	cache->valid = err == 0;
	return err;
}

/* `process` may be NULL. 0, or 1 + UNKNOWN_MEMORY. */
static int
fill_context(struct attribution *attribution, const struct record *record, struct process *process,
             struct sample_key *key)
{
	struct context_cache *cache = &attribution->nameless;
	const char *comm = "";

	if (process) {
		cache = &process->context;
		comm = process->comm;
	} else if (record->pid == PID_IDLE && record->tid == PID_IDLE) {
		cache = &attribution->idle;
		comm = "swapper";
	}
	if (!cache->valid || cache->cgroup != record->sample.cgroup)
		if (intern_context(attribution, cache, comm, record->sample.cgroup))
			return 1 + UNKNOWN_MEMORY;
	key->context = cache->number;
	return 0;
}

static int
fill_image(struct mapped_image *image, uint64_t offset, struct sample_key *key)
{
	if (offset > OFFSET_MAX)
		return 1 + UNKNOWN_ADDRESS;
	if (mapped_image_number(image, &key->image))
		return 1 + UNKNOWN_MEMORY;
	key->offset = offset;
	return 0;
}

static int
sample_kernel(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	struct process *process = NULL;
	struct mapped_image *image;
	uint64_t offset;
	int cause;

	cause = kernel_map_find(attribution->kernel, record->sample.address, record->time, &image, &offset);
	if (!cause)
		cause = fill_image(image, offset, key);
	if (cause)
		return cause;
	if (!is_foreign(record->pid))
		process = process_find(attribution->processes, record->pid);
	return fill_context(attribution, record, process, key);
}

/* User code that still runs after the main thread's end is another thread's: its process lives on. */
static void
renew_grace(struct attribution *attribution, struct process *process, uint64_t time_ns)
{
	if (process->ended && time_ns > process->ended_ns + attribution->options.exit_grace_ns / 2)
		process_end(attribution->processes, process, time_ns);
}

static int
sample_user(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	uint64_t address = record->sample.address;
	const struct mapping *mapping;
	struct process *process;
	int cause;

	if (is_foreign(record->pid))
		return 1 + UNKNOWN_NAMESPACE;
	process = process_find(attribution->processes, record->pid);
	if (!process)
		return 1 + UNKNOWN_PROCESS;
	renew_grace(attribution, process, record->time);
	mapping = address_space_find(process->space, address);
	if (mapping)
		cause = fill_image(mapping->image, address - mapping->start + mapping->file_offset, key);
	else if (address >= VSYSCALL_START && address - VSYSCALL_START < VSYSCALL_SIZE)
		cause = fill_image(attribution->vsyscall, address - VSYSCALL_START, key);
	else
		cause = 1 + (process->incomplete ? UNKNOWN_MEMORY : UNKNOWN_ADDRESS);
	return cause ? cause : fill_context(attribution, record, process, key);
}

int
attribution_sample(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	switch (record->mode) {
	case CPU_MODE_USER:
		return sample_user(attribution, record, key);
	case CPU_MODE_KERNEL:
		return sample_kernel(attribution, record, key);
	case CPU_MODE_HYPERVISOR:
	case CPU_MODE_GUEST_KERNEL:
	case CPU_MODE_GUEST_USER:
		return 1 + UNKNOWN_GUEST;
	default:
		return 1 + UNKNOWN_MODE;
	}
}

void
attribution_expire(struct attribution *attribution, uint64_t now_ns)
{
	if (now_ns >= attribution->options.exit_grace_ns)
		process_table_expire(attribution->processes, now_ns - attribution->options.exit_grace_ns);
}

void
attribution_stats(const struct attribution *attribution, struct attribution_stats *stats)
{
	stats->processes = process_table_size(attribution->processes);
	stats->mappings = attribution->budget.used;
	stats->images = image_table_count(attribution->image_table);
	stats->contexts = context_table_count(attribution->context_table);
	stats->scan_ns = attribution->scan_ns;
}
