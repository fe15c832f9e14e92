#include "dcpi-tools/mem/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "base/small_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/mem/spe_live.h"
#include "process/proc.h"

#define SYSFS         "/sys"
#define BALANCING     "/proc/sys/kernel/numa_balancing"
#define PARANOID      "/proc/sys/kernel/perf_event_paranoid"
#define RING_PAGES    256 /* of a CPU; fewer where less memory may be locked */
#define RING_PAGES_LO 16
#define PMU_PERIOD    10007  /* loads, or stores: a prime keeps no step with loops */
#define IBS_PERIOD    500000 /* operations, a multiple of 16, as IBS takes it */
#define SPE_PERIOD    65536  /* operations, a multiple of 256, as SPE takes it; it varies it by itself (jitter) */
#define SPE_BEHIND_NS UINT64_C(1000000000) /* an area is handed over when a page is full, or its thread leaves */
#define SPE_DEVICE    SYSFS "/bus/event_source/devices/" SPE_LIVE_DEVICE
#define THREAD_PASSES 3 /* over the threads of a process, which may make others meanwhile */

#define SAMPLE_FIELDS                                                                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |             \
	 PERF_SAMPLE_CPU)

/* The events of a CPU, which share a ring. */
struct sampled_cpu {
	uint32_t number;
	int *fds; /* the first has the ring */
	size_t count, room;
	struct ring *ring;
};

static const char *const source_texts[SOURCES] = {
	[SOURCE_CHOOSE] = "auto",
	[SOURCE_PMU] = "pmu",
	[SOURCE_FAULTS] = "faults",
};

const char *
source_text(enum access_source source)
{
	return (unsigned)source < SOURCES ? source_texts[source] : "?";
}

/* ---- the machine ---- */

int
node_cpus_read(const char *sysfs, struct node_cpus *cpus)
{
	char path[256];
	int64_t line_bytes;

	memset(cpus, 0, sizeof(*cpus));
	if (small_file_read_number(&line_bytes, "%s/devices/system/cpu/cpu0/cache/index0/coherency_line_size", sysfs) ==
	    0)
		cpus->line_bytes = (unsigned)line_bytes;
	for (; cpus->nodes < MEMORY_NODE_HERE; cpus->nodes++) {
		uint32_t *list;
		int count;

		snprintf(path, sizeof(path), "%s/devices/system/node/node%u/cpulist", sysfs, cpus->nodes);
		count = cpu_list_read(path, &list);
		if (count == -EINVAL)
			continue; /* it has memory alone */
		if (count == -ENOMEM)
			return count;
		if (count < 0)
			break;
		for (int i = 0; i < count; i++) {
			if (list[i] < NODE_CPUS_MAX)
				cpus->node[list[i]] = (uint8_t)cpus->nodes;
		}
		cpus->node_cpus = cpus->node_cpus ? cpus->node_cpus : (unsigned)count;
		free(list);
	}
	if (!cpus->nodes) {
		cpus->nodes = 1;
		cpus->node_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	}
	return 0;
}

/* ---- which source ---- */

static bool
add_event(struct sample_source *source, const char *name)
{
	char why[EVENT_NOTE_SIZE];

	if (event_encode(SYSFS, name, &source->encodings[source->event_count], why, sizeof(why)))
		return false;
	snprintf(source->names[source->event_count++], EVENT_NAME_SIZE, "%s", name);
	return true;
}

static bool
find_pmu(struct sample_source *source)
{
	static const char *const cores[] = {"cpu", "cpu_core"};
	char name[EVENT_NAME_SIZE];

	source->event_count = 0;
	for (size_t i = 0; i < ARRAY_COUNT(cores) && !source->event_count; i++) {
		snprintf(name, sizeof(name), "%s/mem-loads,ldlat=30/", cores[i]);
		if (!add_event(source, name))
			continue;
		snprintf(name, sizeof(name), "%s/mem-stores/", cores[i]);
		(void)add_event(source, name);
		source->precise = EVENT_PRECISE_MAX;
		source->period = PMU_PERIOD;
	}
	if (!source->event_count && add_event(source, "ibs_op/cnt_ctl=1/")) {
		source->is_of_machine = true;
		source->period = IBS_PERIOD;
	}
	if (!source->event_count && add_event(source, SPE_LIVE_EVENT)) {
		source->is_spe = true;
		source->period = SPE_PERIOD;
		source->behind_ns = SPE_BEHIND_NS;
	}
	if (source->event_count)
		source->kind = SOURCE_PMU;
	return source->event_count;
}

/* STATUS_OK, or an exit status after a message. */
static int
check_faults(const struct node_cpus *cpus)
{
	int64_t balancing;
	int err = small_file_read_number(&balancing, "%s", BALANCING);

	if (err == -ENOENT) {
		message_print(BALANCING, "this kernel has no NUMA balancing (CONFIG_NUMA_BALANCING), whose faults "
		                         "would be the samples: 'dcpimem run --machine NAME' emulates a machine");
		return STATUS_FAILURE;
	}
	if (err)
		return message_cannot(BALANCING, "read whether pages are sampled", err, NULL);
	if (!(balancing & 1)) {
		message_print(
			BALANCING,
			"NUMA balancing, whose faults are the samples, is off%s: 'sysctl kernel.numa_balancing=1' "
			"turns it on",
			cpus->nodes == 1 ? " (there is one node)" : "");
		return STATUS_FAILURE;
	}
	return STATUS_OK;
}

int
source_choose(enum access_source kind, const struct node_cpus *cpus, struct sample_source *source)
{
	*source = (struct sample_source){.kind = kind};
	if (kind != SOURCE_FAULTS && find_pmu(source))
		return STATUS_OK;
	if (kind == SOURCE_PMU) {
		message_print(NULL, "this machine has no PMU that samples data addresses (Intel's PEBS, AMD's IBS, "
		                    "Arm's SPE): --source faults samples pages, --machine NAME emulates a machine");
		return STATUS_FAILURE;
	}
	if (kind == SOURCE_CHOOSE && cpus->nodes == 1) {
		message_print(
			NULL,
			"this machine has no PMU that samples data addresses (Intel's PEBS, AMD's IBS, Arm's SPE), "
			"and one NUMA node, where no access is remote: --machine NAME runs the program as on another "
			"one");
		return STATUS_FAILURE;
	}
	source->kind = SOURCE_FAULTS;
	source->event_count = 1;
	source->encodings[0] = (struct event_encoding){PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, "faults"};
	snprintf(source->names[0], EVENT_NAME_SIZE, "page-faults");
	source->period = 1;
	return check_faults(cpus);
}

/* ---- opening it ---- */

static struct perf_event_attr
attr_of(const struct sample_source *source, size_t event, bool at_exec, uint64_t weight_field)
{
	const struct event_encoding *encoding = &source->encodings[event];

	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = encoding->type,
		.config = encoding->config,
		.config1 = encoding->config1,
		.config2 = encoding->config2,
		.sample_period = source->period,
		.sample_type =
			SAMPLE_FIELDS |
			(source->kind == SOURCE_PMU && !source->is_spe ? PERF_SAMPLE_DATA_SRC | weight_field : 0),
		.context_switch = source->is_spe,
		.aux_watermark = source->is_spe ? (uint32_t)sysconf(_SC_PAGESIZE) : 0,
		.precise_ip = source->precise,
		.disabled = at_exec && !source->is_of_machine,
		.enable_on_exec = at_exec && !source->is_of_machine,
		.inherit = !source->is_of_machine,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = event == 0,
		.mmap2 = event == 0,
		.mmap_data = event == 0,
		.comm = event == 0,
		.comm_exec = event == 0,
		.task = event == 0,
		.exclude_hv = 1,
	};
}

/*
 * With what this kernel and this user may have: without the kernel's own accesses where they are not allowed, with
 * less precision, and with the older form of the latency. A descriptor or -errno.
 */
static int
open_event(const struct sample_source *source, size_t event, pid_t pid, int cpu, struct record_layout *layout)
{
	static const uint64_t weights[] = {PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_WEIGHT};
	int err = -EINVAL;

	for (size_t w = 0; w < ARRAY_COUNT(weights); w++) {
		struct perf_event_attr attr = attr_of(source, event, pid == 0, weights[w]);
		const pid_t whose = source->is_of_machine ? -1 : pid;

		for (;;) {
			const long fd = syscall(SYS_perf_event_open, &attr, whose, cpu, -1,
			                        (unsigned long)PERF_FLAG_FD_CLOEXEC);

			if (fd >= 0) {
				*layout = (struct record_layout){
					.sample_type = attr.sample_type, .sample_id_all = true, .no_build_ids = true};
				return (int)fd;
			}
			err = -errno;
			if ((err == -EACCES || err == -EPERM) && !attr.exclude_kernel && !source->is_of_machine)
				attr.exclude_kernel = 1;
			else if ((err == -EINVAL || err == -EOPNOTSUPP) && attr.precise_ip)
				attr.precise_ip--;
			else
				break;
		}
	}
	return err;
}

static int
add_ring(struct sample_source *source, struct sampled_cpu *cpu, const struct record_layout *layout)
{
	/* with an area beside it, it has switches and mappings alone */
	for (size_t pages = source->is_spe ? RING_PAGES_LO : RING_PAGES; !cpu->ring; pages /= 2) {
		cpu->ring = ring_new(cpu->fds[0], pages);
		if (!cpu->ring && (errno != EPERM || pages <= RING_PAGES_LO))
			return -errno;
	}
	for (size_t pages = RING_PAGES; source->is_spe; pages /= 2) {
		const int err = ring_map_aux(cpu->ring, cpu->fds[0], pages);

		if (!err)
			break;
		if (err != -EPERM || pages <= RING_PAGES_LO)
			return err;
	}
	return merge_add(source->merge, cpu->ring, layout, cpu->number);
}

/* The events of one thread on one CPU. 0; -ENODEV: the CPU is offline; -ESRCH: the thread has ended; -errno. */
static int
open_on(struct sample_source *source, struct sampled_cpu *cpu, pid_t tid)
{
	for (size_t i = 0; i < source->event_count; i++) {
		struct record_layout layout;
		const int fd = open_event(source, i, tid, (int)cpu->number, &layout);
		int *place, err = 0;

		if (fd < 0)
			return fd;
		place = ARRAY_APPEND(cpu->fds, cpu->count, cpu->room);
		if (!place) {
			close(fd);
			return -ENOMEM;
		}
		*place = fd;
		if (cpu->count == 1)
			err = add_ring(source, cpu, &layout);
		else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->fds[0]))
			err = -errno;
		if (err)
			return err;
	}
	return 0;
}

static int
open_thread(struct sample_source *source, pid_t tid)
{
	for (size_t i = 0; i < source->cpu_count; i++) {
		const int err = open_on(source, &source->cpus[i], tid);

		if (err && err != -ENODEV)
			return err;
	}
	return 0;
}

struct listed_threads {
	pid_t *threads;
	size_t room;
	ssize_t count; /* negative: an error */
};

static bool
has_thread(const struct listed_threads *list, pid_t tid)
{
	ssize_t left = list->count;

	while (left > 0 && list->threads[left - 1] != tid)
		left--;
	return left > 0;
}

/* All threads of a process that are there; those that they make are inherited. 0, -ESRCH, -ENOMEM, -errno. */
static int
open_threads(struct sample_source *source, pid_t pid)
{
	struct listed_threads lists[2] = {{NULL, 0, 0},
	                                  {NULL, 0, 0}}; /* of this pass and of the one before, in turns */
	int err = 0;

	for (int pass = 0; pass < THREAD_PASSES && !err; pass++) {
		struct listed_threads *now = &lists[pass % 2];
		const struct listed_threads *before = &lists[(pass + 1) % 2];

		now->count = proc_list_threads(pid, &now->threads, &now->room);
		err = now->count < 0 ? (int)now->count : 0;
		for (ssize_t i = 0; i < now->count && !err; i++) {
			const pid_t tid = now->threads[i];

			if (!has_thread(before, tid))
				err = open_thread(source, tid);
			if (err == -ESRCH && tid != pid)
				err = 0;
		}
		if (source->is_of_machine)
			break;
	}
	free(lists[0].threads);
	free(lists[1].threads);
	return err;
}

static int
list_cpus(struct sample_source *source)
{
	uint32_t *list;
	const int count =
		cpu_list_read(source->is_spe ? SPE_DEVICE "/cpumask" : SYSFS "/devices/system/cpu/online", &list);

	if (count < 0)
		return count;
	source->spe = source->is_spe ? spe_live_new(SYSFS, list, (size_t)count) : NULL;
	if (source->is_spe && !source->spe) {
		free(list);
		return -ENOMEM;
	}
	source->cpus = calloc((size_t)count, sizeof(*source->cpus));
	for (int i = 0; i < count && source->cpus; i++)
		source->cpus[i].number = list[i];
	source->cpu_count = source->cpus ? (size_t)count : 0;
	free(list);
	return source->cpus ? 0 : -ENOMEM;
}

static int
cannot_open(const struct sample_source *source, int err)
{
	const char *what = source->names[0];
	int64_t paranoid = 0;

	if (err == -ESRCH) {
		message_print(NULL, "there is no such process");
		return STATUS_FAILURE;
	}
	if (err == -EMFILE)
		return message_cannot(what, "sample it", err,
		                      "'ulimit -n' is too small: a descriptor for each thread "
		                      "and CPU is needed");
	if (err == -EBUSY && source->is_spe)
		return message_cannot(
			what, "sample it", err,
			"another profiler samples by SPE, which serves either all processes or single ones");
	if ((err == -EACCES || err == -EPERM) && small_file_read_number(&paranoid, "%s", PARANOID) == 0) {
		message_print(what,
		              "this user may not sample it (kernel.perf_event_paranoid is %lld): run it as root, or "
		              "'sysctl kernel.perf_event_paranoid=%d'",
		              (long long)paranoid, source->is_of_machine ? 0 : 2);
		return STATUS_FAILURE;
	}
	return message_cannot(what, "sample it", err, NULL);
}

int
source_open(struct sample_source *source, pid_t pid)
{
	struct rlimit files;
	int err = list_cpus(source);

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	source->merge = err ? NULL : merge_new();
	if (!err && !source->merge)
		err = -ENOMEM;
	if (!err)
		err = pid ? open_threads(source, pid) : open_thread(source, 0);
	if (!err)
		return STATUS_OK;
	source_close(source);
	return cannot_open(source, err);
}

void
source_close(struct sample_source *source)
{
	for (size_t i = 0; i < source->cpu_count; i++) {
		struct sampled_cpu *cpu = &source->cpus[i];

		if (cpu->ring)
			source->lost += ring_take_skipped(cpu->ring);
		ring_free(cpu->ring);
		while (cpu->count > 0)
			close(cpu->fds[--cpu->count]);
		free(cpu->fds);
	}
	merge_free(source->merge);
	if (source->spe)
		source->lost += spe_live_lost(source->spe);
	spe_live_free(source->spe);
	free(source->cpus);
	source->spe = NULL;
	source->cpus = NULL;
	source->cpu_count = 0;
	source->merge = NULL;
}

/* What SPE's records go through. */
struct spe_drain {
	struct sample_source *source;
	merge_sink *sink;
	void *context;
};

static int
take_of_spe(void *context, uint32_t number, const struct record *record)
{
	const struct spe_drain *drain = context;
	struct sample_source *source = drain->source;

	for (size_t i = 0; i < source->cpu_count; i++) {
		if (source->cpus[i].number == number && (record->type == RECORD_AUX || record->type == RECORD_RUNNING))
			return spe_live_take(source->spe, i, source->cpus[i].ring, record, drain->sink, drain->context);
	}
	return drain->sink(drain->context, number, record);
}

int
source_drain(struct sample_source *source, uint64_t horizon, merge_sink *sink, void *context)
{
	struct spe_drain drain = {source, sink, context};

	if (!source->merge)
		return 0;
	if (!source->spe)
		return merge_drain(source->merge, horizon, sink, context);
	spe_live_set_time(source->spe);
	return merge_drain(source->merge, horizon, take_of_spe, &drain);
}
