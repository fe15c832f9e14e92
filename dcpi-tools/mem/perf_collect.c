#include "dcpi-tools/mem/perf_collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "dcpi-tools/mem/faults.h"
#include "dcpi-tools/mem/logs.h"
#include "dcpi-tools/mem/names.h"
#include "dcpi-tools/mem/word_trials.h"
#include "memory/access_history.h"
#include "memory/numbers.h"
#include "process/hash.h"
#include "process/image_table.h"
#include "process/proc.h"

#define PAGES_MAX   1048576 /* whose nodes are remembered */
#define REFRESH_NS  SECOND_NS
#define MISSING_NS  (SECOND_NS / 2)
#define ASK_AT_ONCE 512 /* pages */
#define NAME_BYTES  64
#define NO_IMAGE    UINT64_MAX
#define TICKS_KHZ   1000000 /* of times in ns */

/* What a recording may claim, which no kernel bounds. */
#define HELD_MAX     65536               /* samples that are held */
#define MAPPINGS_MAX ((size_t)4 << 20)   /* of all processes together: some 500 MiB of memory */
#define ADDRESS_END  (UINT64_MAX - 8191) /* nothing is mapped there, and sums do not overflow below */
#define KERNEL_BEGIN (UINT64_C(1) << 63)

/* A process and a program that it executes. */
struct perf_process {
	uint32_t pid, exec; /* exec: programs that it executed before */
	uint32_t parent;    /* whose program it executes since it was forked; MEMORY_NOTHING: it executed one */
	uint64_t began;
	struct process_map *map;
	uint64_t refreshed; /* when the map was read */
};

/* The last program of a process. */
struct perf_pid {
	uint32_t pid, process;
	UT_hash_handle hh;
};

/* A sample whose page's node is not known yet. */
struct held_access {
	uint32_t process; /* the history's number, and the index */
	uint32_t cpu;
	bool is_remote; /* as the PMU says */
	bool is_first;  /* of its page, of processes that can be asked for that */
	struct access_sample sample;
};

struct perf_collector {
	struct memory_profile *profile;
	struct perf_collector_options options;
	struct access_history *history;
	struct names *names;
	struct logs *logs; /* NULL: none */
	struct perf_process *processes;
	size_t process_count, process_room;
	struct perf_pid *pids;
	struct process_map *kernel; /* of a recording */
	size_t mappings;            /* of a recording: of all processes */
	uint64_t left_out;
	uint64_t latest; /* time of the records that were taken */
	struct image_table *images;
	struct numbers places; /* an image or NO_IMAGE, the offset in it */
	struct numbers ours;   /* processes and threads of the tracker, whose samples are left out */
	struct held_access *held;
	size_t held_count, held_room;
	struct word_trials *trials; /* NULL: words are not watched */
	struct numbers pages;       /* processes and pages that had samples */
	uint8_t *page_nodes;        /* by these: on which they were last; MEMORY_NODE_HERE: not known */
	size_t page_count, page_room;
	uint64_t page_bytes;
	int refused;
};

/* ---- processes ---- */

/* The last program of a process. NULL: it is not known. */
static struct perf_process *
find_pid(const struct perf_collector *collector, uint32_t pid)
{
	const struct perf_pid *found;

	HASH_FIND(hh, collector->pids, &pid, sizeof(pid), found);
	return found ? &collector->processes[found->process] : NULL;
}

/* The process that was added last is what `pid` is now. False: no memory. */
static bool
enter_pid(struct perf_collector *collector, uint32_t pid)
{
	struct perf_pid *entry;

	HASH_FIND(hh, collector->pids, &pid, sizeof(pid), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return false;
		entry->pid = pid;
		HASH_ADD(hh, collector->pids, pid, sizeof(entry->pid), entry);
		if (!hash_added(entry)) {
			free(entry);
			return false;
		}
	}
	entry->process = (uint32_t)collector->process_count - 1;
	return true;
}

/* Whether there is room for `count` mappings more; processes of this machine are limited by its kernel. */
static bool
has_room(struct perf_collector *collector, size_t count)
{
	if (collector->options.is_live || count <= MAPPINGS_MAX - collector->mappings)
		return true;
	collector->left_out += count;
	return false;
}

/* 0 or -ENOMEM. */
static int
add_mapping(struct perf_collector *collector, struct process_map *map, const struct record_mmap *mmap)
{
	const size_t before = process_map_count(map);
	int err;

	if (!has_room(collector, 2)) /* one may become two, with the new one between them */
		return 0;
	err = process_map_add(map, mmap);
	collector->mappings += process_map_count(map) - before;
	return err;
}

static int
copy_mappings(struct perf_collector *collector, struct process_map *map, const struct process_map *from)
{
	int err;

	if (!has_room(collector, process_map_count(from)))
		return 0;
	err = process_map_copy(map, from);
	collector->mappings += process_map_count(map);
	return err;
}

static uint32_t
number_of(const struct perf_collector *collector, const struct perf_process *process)
{
	return (uint32_t)(process - collector->processes);
}

/* `name`: a text. `parent`: whose objects it has; MEMORY_NOTHING: none's. NULL: no memory. */
static struct perf_process *
add_process(struct perf_collector *collector, uint32_t pid, uint32_t name, uint32_t parent, uint64_t time)
{
	const struct perf_process *before = find_pid(collector, pid);
	const uint32_t exec = before ? before->exec + 1 : 0;
	struct process_map *map = process_map_new(pid);
	struct perf_process *process =
		map ? ARRAY_APPEND(collector->processes, collector->process_count, collector->process_room) : NULL;

	if (!process) {
		process_map_free(map);
		return NULL;
	}
	*process = (struct perf_process){.pid = pid, .exec = exec, .parent = parent, .began = time, .map = map};
	if (!enter_pid(collector, pid) ||
	    (parent != MEMORY_NOTHING && copy_mappings(collector, map, collector->processes[parent].map)))
		return NULL;
	if (name == MEMORY_NOTHING ||
	    access_history_add_process(collector->history, pid, exec, name, parent, time) == MEMORY_NOTHING)
		return NULL;
	return process;
}

static uint32_t
find_process(void *context, int32_t pid, uint64_t time)
{
	const struct perf_collector *collector = context;
	uint32_t found = MEMORY_NOTHING;

	for (size_t i = 0; i < collector->process_count; i++) {
		if (collector->processes[i].pid == (uint32_t)pid && collector->processes[i].began <= time)
			found = (uint32_t)i;
	}
	return found;
}

static const struct process_map *
map_of(void *context, uint32_t process)
{
	const struct perf_collector *collector = context;

	return collector->processes[process].map;
}

static uint32_t
parent_of(void *context, uint32_t process)
{
	const struct perf_collector *collector = context;

	return collector->processes[process].parent;
}

/*
 * A process may have thousands of mappings: reading them takes a while, in which pages are not asked for. Files that it
 * maps, perf tells anyway.
 */
static void
refresh_map(struct perf_process *process, uint64_t after_ns)
{
	const uint64_t now = monotonic_ns();

	if (process->refreshed && now - process->refreshed < after_ns)
		return;
	process->refreshed = now;
	(void)process_map_refresh(process->map, 0);
}

static void
find_region(void *context, uint32_t process, uint64_t address, struct memory_region *region)
{
	struct perf_collector *collector = context;
	struct perf_process *here = &collector->processes[process];

	if (collector->options.is_live && !process_map_has(here->map, address))
		refresh_map(here, MISSING_NS);
	if (!collector->options.is_live && address >= KERNEL_BEGIN) {
		*region = (struct memory_region){
			.address = KERNEL_BEGIN,
			.size = ADDRESS_END - KERNEL_BEGIN,
			.kind = MEMORY_UNKNOWN,
			.name = memory_profile_add_text(collector->profile, "[kernel]"),
		};
		return;
	}
	names_region(collector->names, here->map, address, region);
	region->is_ours |= collector->options.directory && region->kind == MEMORY_FILE &&
	                   strncmp(memory_profile_text(collector->profile, region->name), collector->options.directory,
	                           strlen(collector->options.directory)) == 0;
}

/* ---- the object ---- */

/* 64 where it is not known. */
static uint64_t
line_bytes_of(const struct perf_collector *collector)
{
	const struct node_cpus *cpus = collector->options.cpus;

	return cpus && cpus->line_bytes >= 8 && !(cpus->line_bytes & (cpus->line_bytes - 1)) ? cpus->line_bytes : 64;
}

struct perf_collector *
perf_collector_new(struct memory_profile *profile, const struct perf_collector_options *options)
{
	struct perf_collector *collector = calloc(1, sizeof(*collector));
	const struct log_processes processes = {find_process, map_of, parent_of, collector};

	if (!collector)
		return NULL;
	collector->profile = profile;
	collector->options = *options;
	collector->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	collector->history = access_history_new(profile, options->access_max, find_region, collector);
	collector->names = names_new(profile);
	collector->images = image_table_new();
	if (options->source == SOURCE_FAULTS && options->is_live && options->watches)
		collector->trials = word_trials_new(line_bytes_of(collector), collector->page_bytes);
	collector->kernel = process_map_new(0);
	if (collector->history && options->directory)
		collector->logs = logs_new(collector->history, profile, options->directory, false, &processes);
	if (collector->history && collector->names && collector->images && collector->kernel &&
	    (collector->logs || !options->directory))
		return collector;
	perf_collector_free(collector);
	return NULL;
}

void
perf_collector_free(struct perf_collector *collector)
{
	if (!collector)
		return;
	for (size_t i = 0; i < collector->process_count; i++)
		process_map_free(collector->processes[i].map);
	process_map_free(collector->kernel);
	HASH_FREE_ALL(collector->pids);
	free(collector->processes);
	free(collector->held);
	logs_free(collector->logs);
	numbers_fini(&collector->places);
	numbers_fini(&collector->ours);
	numbers_fini(&collector->pages);
	free(collector->page_nodes);
	word_trials_free(collector->trials);
	image_table_free(collector->images);
	access_history_free(collector->history);
	names_free(collector->names);
	free(collector);
}

static bool
is_trackers_name(const char *name)
{
	return strcmp(name, OBJECT_LOG_BINDER) == 0 || strcmp(name, OBJECT_LOG_KEEPER) == 0;
}

/* Threads of the tracker that run already are not the program's. */
static int
leave_out_running(struct perf_collector *collector, uint32_t pid)
{
	pid_t *threads = NULL;
	size_t room = 0;
	const ssize_t count = proc_list_threads((pid_t)pid, &threads, &room);
	int err = count == -ENOMEM ? -ENOMEM : 0;

	for (ssize_t i = 0; i < count && !err; i++) {
		char name[NAME_BYTES];

		if (!small_file_read(name, sizeof(name), "/proc/%u/task/%d/comm", pid, (int)threads[i]) &&
		    is_trackers_name(name) && numbers_of(&collector->ours, (uint32_t)threads[i], 0) == NUMBER_NONE)
			err = -ENOMEM;
	}
	free(threads);
	return err;
}

int
perf_collector_add_running(struct perf_collector *collector, uint32_t pid)
{
	char name[NAME_BYTES];
	struct perf_process *process;

	if (small_file_read(name, sizeof(name), "/proc/%u/comm", pid))
		snprintf(name, sizeof(name), "%u", pid);
	process = add_process(collector, pid, memory_profile_add_text(collector->profile, name), MEMORY_NOTHING, 0);
	if (!process || leave_out_running(collector, pid))
		return -ENOMEM;
	return process_map_refresh(process->map, 0) == -ENOMEM ? -ENOMEM : 0;
}

int
perf_collector_refused(const struct perf_collector *collector)
{
	return collector->refused;
}

uint64_t
perf_collector_left_out(const struct perf_collector *collector)
{
	return collector->left_out;
}

/* A process of whose beginning there is no record. NULL: no memory. */
static struct perf_process *
add_unknown(struct perf_collector *collector, uint32_t pid)
{
	return add_process(collector, pid, memory_profile_add_text(collector->profile, "?"), MEMORY_NOTHING, 0);
}

/* ---- samples ---- */

bool
perf_sample_access(const struct record *record, struct access_sample *sample, bool *is_remote)
{
	const uint32_t cycles = record->sample.weight < UINT32_MAX ? (uint32_t)record->sample.weight : UINT32_MAX;
	struct data_source_access access;

	if (!record->sample.data_address || record->sample.data_address >= ADDRESS_END ||
	    !data_source_access(record->sample.data_source, &access) ||
	    (access.level == MEMORY_OWN && !(access.flags & MEMORY_STORE)))
		return false;
	*is_remote = access.is_remote;
	*sample = (struct access_sample){
		.time = record->time,
		.address = record->sample.data_address,
		.tid = record->tid,
		.cycles = access.level == MEMORY_OWN ? 0 : cycles,
		.cost = access.level == MEMORY_OWN ? 0 : cycles,
		.weight = 1,
		.level = access.level,
		.flags = access.flags,
	};
	return true;
}

/* Whether what a sample of a recording names was mapped: the data as the sample's mode sees it, the code in any. */
static bool
is_mapped(const struct perf_collector *collector, const struct perf_process *process, const struct record *record)
{
	const struct process_map *map = record->mode == CPU_MODE_KERNEL            ? collector->kernel
	                                : record->mode == CPU_MODE_USER && process ? process->map
	                                                                           : NULL;

	return map && process_map_has(map, record->sample.data_address) &&
	       (process_map_has(collector->kernel, record->sample.address) ||
	        (process && process_map_has(process->map, record->sample.address)));
}

/* Our number of the instruction. NUMBER_NONE: no memory. */
static uint32_t
place_of(struct perf_collector *collector, const struct perf_process *process, const struct record *record)
{
	uint64_t offset = record->sample.address;
	struct image image;
	uint32_t number;

	if (record->mode != CPU_MODE_USER || !process_map_file(process->map, offset, &image, &offset))
		return numbers_of(&collector->places, NO_IMAGE, record->mode == CPU_MODE_USER ? offset : 0);
	if (image_table_intern(collector->images, &image, &number))
		return numbers_of(&collector->places, NO_IMAGE, offset);
	return numbers_of(&collector->places, number, offset);
}

static int
take_sample(struct perf_collector *collector, const struct record *record)
{
	const bool is_fault = collector->options.source == SOURCE_FAULTS;
	struct perf_process *process = find_pid(collector, record->pid);
	struct held_access held = {.cpu = record->sample.cpu}, *place;

	if (collector->options.counts)
		data_source_count(collector->options.counts, record->sample.data_source, record->sample.data_address,
		                  record->sample.weight, is_mapped(collector, process, record));
	if (record->pid == 0 || record->pid == UINT32_MAX || (!process && collector->options.only) ||
	    numbers_has(&collector->ours, record->tid, 0) ||
	    (record->mode != CPU_MODE_USER && record->mode != CPU_MODE_KERNEL))
		return 0;
	if (is_fault)
		held.sample = (struct access_sample){.time = record->time,
		                                     .address = record->sample.data_address,
		                                     .tid = record->tid,
		                                     .weight = 1,
		                                     .level = MEMORY_DRAM};
	else if (!perf_sample_access(record, &held.sample, &held.is_remote))
		return 0;
	collector->profile->totals.counted += held.sample.level != MEMORY_OWN;
	if (!process)
		process = add_unknown(collector, record->pid);
	held.sample.place = process ? place_of(collector, process, record) : NUMBER_NONE;
	if (held.sample.place == NUMBER_NONE)
		return -ENOMEM;
	held.process = number_of(collector, process);
	place = ARRAY_APPEND(collector->held, collector->held_count, collector->held_room);
	if (!place)
		return -ENOMEM;
	*place = held;
	return 0;
}

/* ---- other records ---- */

static bool
is_wanted(const struct perf_collector *collector, uint32_t pid)
{
	return !collector->options.only || pid == collector->options.only || find_pid(collector, pid);
}

static int
take_fork(struct perf_collector *collector, const struct record *record)
{
	const struct perf_process *parent = find_pid(collector, record->task.parent_pid);
	uint32_t number;

	if (record->pid == record->task.parent_pid || !is_wanted(collector, record->task.parent_pid))
		return 0; /* a thread; another's child */
	if (!parent)
		return add_unknown(collector, record->pid) ? 0 : -ENOMEM;
	number = number_of(collector, parent);
	return add_process(collector, record->pid, collector->profile->processes[number].name, number, record->time)
	               ? 0
	               : -ENOMEM;
}

/* A thread of the tracker gives itself its name as soon as it runs. */
static int
leave_out_thread(struct perf_collector *collector, uint32_t tid)
{
	size_t kept = 0;

	for (size_t i = 0; i < collector->held_count; i++) {
		if (collector->held[i].sample.tid != tid)
			collector->held[kept++] = collector->held[i];
		else
			collector->profile->totals.counted -= collector->held[i].sample.level != MEMORY_OWN;
	}
	collector->held_count = kept;
	return numbers_of(&collector->ours, tid, 0) == NUMBER_NONE ? -ENOMEM : 0;
}

static int
take_comm(struct perf_collector *collector, const struct record *record)
{
	const struct perf_process *process = find_pid(collector, record->pid);
	uint32_t name;

	if (record->pid != record->tid && is_trackers_name(record->comm.name))
		return leave_out_thread(collector, record->tid);
	if (record->pid != record->tid || !is_wanted(collector, record->pid))
		return 0;
	name = memory_profile_add_text(collector->profile, record->comm.name);
	if (record->comm.is_exec || !process)
		return add_process(collector, record->pid, name, MEMORY_NOTHING, process ? record->time : 0) ? 0
		                                                                                             : -ENOMEM;
	if (name == MEMORY_NOTHING)
		return -ENOMEM;
	collector->profile->processes[number_of(collector, process)].name = name;
	return 0;
}

static int
take_mmap(struct perf_collector *collector, const struct record *record)
{
	struct perf_process *process = find_pid(collector, record->pid);
	int err = 0;

	if (record->mode == CPU_MODE_KERNEL && !collector->options.is_live)
		return add_mapping(collector, collector->kernel, &record->mmap);
	if (record->mode == CPU_MODE_KERNEL || !is_wanted(collector, record->pid))
		return 0;
	if (collector->options.is_live && !record->mmap.inode)
		return 0; /* of memory without a file, which comes and goes more often, /proc tells */
	if (!process)
		process = add_unknown(collector, record->pid);
	if (!process)
		return -ENOMEM;
	/* what the history knows of these addresses ends; of what trackers log, they say so themselves */
	if (!collector->options.is_live && !collector->logs)
		err = access_history_event(collector->history, number_of(collector, process), record->tid,
		                           &(const struct object_log_event){
						   .time = record->time,
						   .address = record->mmap.start,
						   .size = record->mmap.length,
						   .site = OBJECT_LOG_NO_SITE,
						   .kind = OBJECT_UNMAPPED,
					   });
	return err ? err : add_mapping(collector, process->map, &record->mmap);
}

static int advance(struct perf_collector *collector, uint64_t horizon, bool is_ended);

/*
 * Of a recording, what samples accessed is looked up before mappings change. Of processes that run, it is looked up in
 * /proc as soon as their records are here.
 */
static int
settle(struct perf_collector *collector, const struct record *record)
{
	const bool changes = record->type == RECORD_FORK || record->type == RECORD_COMM || record->type == RECORD_MMAP;
	int err = 0;

	if (collector->options.is_live)
		return 0;
	if (collector->held_count >= HELD_MAX || (changes && collector->held_count))
		err = advance(collector, collector->latest, false);
	if (record->time > collector->latest)
		collector->latest = record->time;
	return err;
}

int
perf_collector_take(struct perf_collector *collector, const struct record *record)
{
	const int err = settle(collector, record);

	if (err)
		return err;
	switch (record->type) {
	case RECORD_SAMPLE:
		return take_sample(collector, record);
	case RECORD_FORK:
		return take_fork(collector, record);
	case RECORD_COMM:
		return take_comm(collector, record);
	case RECORD_MMAP:
		return take_mmap(collector, record);
	case RECORD_LOST:
		collector->profile->totals.lost_accesses += record->lost.count;
		return 0;
	default:
		return 0;
	}
}

/* ---- where pages are ---- */

static unsigned
node_of_cpu(const struct perf_collector *collector, uint32_t cpu)
{
	const struct node_cpus *cpus = collector->options.cpus;

	return cpus && cpu < NODE_CPUS_MAX ? cpus->node[cpu] : MEMORY_NODE_HERE;
}

/* What a PMU knows of the page's node: that of the core, or another, which on machines of two is the other one. */
static unsigned
node_by_pmu(const struct perf_collector *collector, const struct held_access *held)
{
	const unsigned here = node_of_cpu(collector, held->cpu);

	if (!held->is_remote)
		return here;
	return here < 2 && collector->options.cpus->nodes == 2 ? 1 - here : MEMORY_NODE_AWAY;
}

/*
 * `node` is where the kernel says that the page is; negative: it does not say. So it is with pages that NUMA balancing
 * has taken away again meanwhile: they are where they were at the sample before.
 */
static void
take_node(struct perf_collector *collector, struct held_access *held, int node)
{
	const uint64_t page = held->sample.address / collector->page_bytes;
	uint32_t number;

	if (collector->pages.count >= PAGES_MAX && !numbers_has(&collector->pages, held->process, page)) {
		if (node >= 0 && node < MEMORY_NODE_HERE)
			held->sample.page_node = (uint8_t)node;
		return;
	}
	number = numbers_of(&collector->pages, held->process, page);
	held->is_first = number != NUMBER_NONE && number >= collector->page_count;
	while (number != NUMBER_NONE && number >= collector->page_count) {
		uint8_t *added = ARRAY_APPEND(collector->page_nodes, collector->page_count, collector->page_room);

		if (!added)
			return;
		*added = MEMORY_NODE_HERE;
	}
	if (number == NUMBER_NONE)
		return;
	if (node >= 0 && node < MEMORY_NODE_HERE)
		collector->page_nodes[number] = (uint8_t)node;
	if (collector->page_nodes[number] != MEMORY_NODE_HERE)
		held->sample.page_node = collector->page_nodes[number];
}

/* Ask a process for the nodes of the pages of its samples from `first` to `end`; those that it does not tell stay. */
static void
ask_nodes(struct perf_collector *collector, size_t first, size_t end)
{
	const struct perf_process *process = &collector->processes[collector->held[first].process];
	void *pages[ASK_AT_ONCE];
	int nodes[ASK_AT_ONCE];

	for (size_t at = first, next; at < end; at = next) {
		next = end - at < ASK_AT_ONCE ? end : at + ASK_AT_ONCE;
		for (size_t i = at; i < next; i++)
			pages[i - at] =
				(void *)(uintptr_t)(collector->held[i].sample.address & ~(collector->page_bytes - 1));
		if (syscall(SYS_move_pages, (long)process->pid, next - at, pages, NULL, nodes, 0L)) {
			if (errno == EPERM || errno == EACCES) /* others: it is ending */
				collector->refused = errno;
			return;
		}
		for (size_t i = at; i < next; i++)
			take_node(collector, &collector->held[i], nodes[i - at]);
	}
}

static int
take_write(void *context, uint32_t process, const struct access_sample *sample)
{
	struct perf_collector *collector = context;

	return access_history_access(collector->history, process, sample);
}

static int
compare_held(const void *a, const void *b)
{
	const struct held_access *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return (one->sample.time > other->sample.time) - (one->sample.time < other->sample.time);
}

static int
apply_held(struct perf_collector *collector)
{
	const bool is_fault = collector->options.source == SOURCE_FAULTS;
	struct held_access *held = collector->held;
	const size_t count = collector->held_count;
	int err = 0;

	if (count > 1)
		qsort(held, count, sizeof(*held), compare_held);
	for (size_t i = 0; i < count; i++) {
		held[i].sample.node = (uint8_t)node_of_cpu(collector, held[i].cpu);
		held[i].sample.page_node = (uint8_t)node_by_pmu(collector, &held[i]);
	}
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && held[next].process == held[i].process; next++)
			;
		if (collector->options.is_live)
			ask_nodes(collector, i, next);
	}
	for (size_t i = 0; i < count && !err; i++) {
		/* without times, remote accesses are what costs, each alike */
		if (is_fault)
			held[i].sample.cycles = held[i].sample.cost = held[i].sample.node != held[i].sample.page_node;
		err = access_history_access(collector->history, held[i].process, &held[i].sample);
		if (collector->trials)
			word_trials_sample(collector->trials, held[i].process,
			                   collector->processes[held[i].process].pid, &held[i].sample,
			                   held[i].is_first);
	}
	collector->held_count = 0;
	if (!err && collector->trials)
		err = word_trials_next(collector->trials, take_write, collector);
	return err;
}

/* ---- steps ---- */

static int
advance(struct perf_collector *collector, uint64_t horizon, bool is_ended)
{
	int err = apply_held(collector);

	if (!err && collector->logs)
		err = logs_look(collector->logs);
	if (!err && collector->logs)
		err = logs_take(collector->logs, horizon, is_ended);
	for (size_t i = 0; i < collector->process_count && !err && collector->options.is_live && !is_ended; i++) {
		struct perf_process *process = &collector->processes[i];

		/* names are looked up when accesses are applied, and it may have ended by then */
		if (process == find_pid(collector, process->pid))
			refresh_map(process, REFRESH_NS);
	}
	if (!err)
		err = access_history_advance(collector->history, horizon);
	return err;
}

int
perf_collector_advance(struct perf_collector *collector, uint64_t horizon)
{
	return advance(collector, horizon, false);
}

/*
 * Faults do not say what their access was: the instruction does. What watchpoints saw was at another instruction, and
 * whether it wrote is known.
 */
static int
name_places(struct perf_collector *collector)
{
	const bool is_fault = collector->options.source == SOURCE_FAULTS;
	struct memory_profile *profile = collector->profile;
	uint32_t *named = calloc(collector->places.count + 1, sizeof(*named));
	bool *writes = calloc(collector->places.count + 1, sizeof(*writes));
	int err = named && writes ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < collector->places.count && !err; i++) {
		const uint64_t *key = numbers_key(&collector->places, i);
		const struct image *image =
			key[0] == NO_IMAGE ? NULL : image_table_get(collector->images, (uint32_t)key[0]);

		named[i] = names_place(collector->names, image, key[1], key[1]);
		writes[i] = is_fault && image && names_writes(collector->names, image, key[1]);
		if (named[i] == MEMORY_NOTHING)
			err = -ENOMEM;
	}
	for (size_t i = 0; i < profile->access_count && !err; i++) {
		struct memory_access *access = &profile->accesses[i];

		access->flags |= access->level == MEMORY_DRAM && writes[access->place] ? MEMORY_STORE : 0;
		access->place = named[access->place];
	}
	free(named);
	free(writes);
	return err;
}

static void
add_totals(struct perf_collector *collector)
{
	struct memory_totals *totals = &collector->profile->totals;
	const struct node_cpus *cpus = collector->options.cpus;

	if (collector->logs) {
		logs_add_totals(collector->logs, totals);
		logs_say_faults(collector->logs);
	}
	/* of a recording, those that were meant to have one are not known */
	for (size_t i = 0; i < collector->process_count && collector->logs && collector->options.is_live; i++)
		totals->untracked += !logs_has(collector->logs, (uint32_t)i);
	totals->nodes = cpus ? cpus->nodes : 1;
	totals->node_cores = cpus ? cpus->node_cpus : 0;
	totals->line_bytes = cpus ? cpus->line_bytes : 0;
	totals->page_bytes = collector->page_bytes;
	totals->counts = collector->options.source == SOURCE_FAULTS;
}

int
perf_collector_finish(struct perf_collector *collector, uint64_t start_ns, uint64_t end_ns)
{
	int err = advance(collector, UINT64_MAX, true);

	if (!err)
		err = access_history_finish(collector->history, start_ns, TICKS_KHZ);
	if (!err && collector->logs)
		err = logs_name_sites(collector->logs, collector->names);
	if (!err)
		err = name_places(collector);
	add_totals(collector);
	if (!err && collector->options.source == SOURCE_FAULTS)
		faults_finish(collector->profile, collector->page_bytes, line_bytes_of(collector));
	if (!err)
		err = names_add_types(collector->names);
	collector->profile->totals.elapsed_ns = end_ns - start_ns;
	return err;
}
