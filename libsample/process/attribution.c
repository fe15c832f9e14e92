#include "process/attribution.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "process/address_space.h"
#include "process/cgroup_table.h"
#include "process/kernel_map.h"
#include "process/proc.h"

#define GRACE_DEFAULT_NS  (10 * SECOND_NS)
#define GRACE_LIVE_NS     SECOND_NS /* the kernel is asked before a process is forgotten */
#define CHECKS_PER_ROUND  4
#define CGROUP_CHECK_NS   (5 * SECOND_NS) /* between two checks which cgroups still exist */
#define MAPPINGS_MAX      (1u << 20)      /* of all processes: 40 MiB */
#define HUGE_PAGE_SIZE    (UINT64_C(2) << 20)
#define FILE_REREAD_NS    SECOND_NS                 /* between two readings of a file that is mapped repeatedly */
#define OFFSET_MAX        ((UINT64_C(1) << 44) - 1) /* the database's blocks end here */
#define VSYSCALL_START    UINT64_C(0xffffffffff600000)
#define VSYSCALL_SIZE     UINT64_C(0x1000)
#define SAMPLED_FILES_MAX 1024 /* that wait to be taken; more are queued with their next sample */

/* Where an image was seen last. Its file is queued again when it was mapped after `queued_ns`, in record time. */
struct seen_place {
	struct image_place place;
	uint64_t queued_ns;
};

/* The state of a reading of /proc, and of the process of it that is being reported. */
struct scan_reading {
	unsigned under_way; /* readings of all processes, or of one */
	uint64_t began_ns;  /* CLOCK_MONOTONIC, when the last reading of all processes began */
	uint64_t known_ns;  /* record time, when the last reading of all processes began */
	bool records_lost;  /* before it began */

	uint32_t pid; /* 0: none, or its findings are ignored */
	uint64_t time_ns;
	bool any; /* a mapping of it came */
	bool had_ended;
	uint64_t ended_ns;
	struct address_space *newer; /* what records have mapped since the reading; NULL: nothing */
};

struct attribution {
	struct attribution_options options;
	struct image_table *image_table;
	struct context_table *context_table;
	struct mapped_images *images;
	struct kernel_map *kernel;
	struct cgroup_table *cgroups;
	struct process_table *processes;
	struct process_labels *labels;
	struct jit_processes *jit; /* NULL: not tracked */
	struct mapping_budget budget;
	struct vdso_identity vdso;
	struct mapped_image *vsyscall;
	struct seen_place *places; /* by number */
	size_t place_capacity;
	uint32_t files[SAMPLED_FILES_MAX]; /* numbers of images to be taken */
	size_t file_count;
	uint32_t session;              /* counts the pairs of tables, from 1 */
	struct context_cache idle;     /* of the idle task */
	struct context_cache nameless; /* of processes never seen */
	bool nested;                   /* in a pid namespace below the machine's: pid 0 is any process outside */
	bool live;                     /* the records are this machine's, now: /proc was read */
	uint64_t grace_ns;             /* the option's, or the default */
	bool sees_cgroups;             /* all of the machine's, under the names that records have */
	uint64_t cgroups_checked_ns;   /* record time */
	uint64_t scan_ns;
	struct scan_reading reading;
	bool records_lost;       /* since the last scan began */
	uint64_t doubt_until_ns; /* record time: before that, lost records may explain what is unknown */
};

static int
attribution_init(struct attribution *attribution)
{
	const struct image vsyscall = {.kind = IMAGE_VDSO, .path = "[vsyscall]"};
	const struct attribution_options *options = &attribution->options;

	attribution->images = mapped_images_new(attribution->image_table);
	attribution->cgroups = cgroup_table_new();
	attribution->processes = process_table_new();
	if (!attribution->images || !attribution->cgroups || !attribution->processes)
		return -ENOMEM;
	attribution->labels = process_labels_new(attribution->processes, options->procfs);
	attribution->kernel =
		kernel_map_new(options->procfs, options->sysfs, attribution->images, options->kernel, options->log);
	attribution->vsyscall = mapped_image_get(attribution->images, &vsyscall);
	if (!attribution->labels || !attribution->kernel || !attribution->vsyscall)
		return -ENOMEM;
	if (options->tracks_jit) {
		attribution->jit = jit_processes_new(attribution->images, attribution->processes);
		if (!attribution->jit)
			return -ENOMEM;
	}
	attribution->session = 1;
	attribution->budget.limit = MAPPINGS_MAX;
	if (!options->offline)
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
	jit_processes_free(attribution->jit);
	process_table_free(attribution->processes);
	process_labels_free(attribution->labels);
	cgroup_table_free(attribution->cgroups);
	kernel_map_free(attribution->kernel);
	mapped_image_release(attribution->vsyscall);
	address_space_release(attribution->reading.newer);
	mapped_images_free(attribution->images);
	free(attribution->places);
	free(attribution);
}

void
attribution_reset_ids(struct attribution *attribution, struct image_table *images, struct context_table *contexts)
{
	attribution->image_table = images;
	attribution->context_table = contexts;
	mapped_images_reset_ids(attribution->images, images);
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
	attribution->nested = proc_text_is_nested(options->procfs);
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
attribution_log_refused(const struct attribution *attribution, unsigned count, const struct log *log)
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

/* ---- records ---- */

/* Text that a program has copied to huge pages still belongs to the file. */
static bool
is_huge_text(const struct process *process, const struct record_mmap *mmap, const struct mapped_image *image)
{
	return image->image.kind == IMAGE_ANON && mmap->start % HUGE_PAGE_SIZE == 0 &&
	       mmap->length % HUGE_PAGE_SIZE == 0 &&
	       address_space_is_file(process->space, mmap->start, mmap->start + mmap->length);
}

static int
map_image(struct attribution *attribution, struct process *process, const struct record_mmap *mmap, uint64_t time_ns)
{
	struct mapped_image *mapped;
	struct image image;
	char buffer[PATH_MAX];
	uint64_t file_offset;
	int err = 0;

	image_of_mapping(mmap, &attribution->vdso, &image, buffer);
	if (attribution->live)
		image_of_memory_file(mmap, &image);
	mapped = mapped_image_get(attribution->images, &image);
	if (!mapped)
		return -ENOMEM;
	mapped_image_set_mapped(mapped, time_ns);
	file_offset = image.kind == IMAGE_USER ? mmap->file_offset : 0;
	if (!is_huge_text(process, mmap, mapped))
		err = address_space_insert(&process->space, &attribution->budget, mmap->start,
		                           mmap->start + mmap->length, file_offset, mapped);
	mapped_image_release(mapped);
	return err;
}

/* 0, -ENOSPC or -ENOMEM. */
static int
apply_mmap(struct attribution *attribution, uint32_t pid, const struct record_mmap *mmap, uint64_t time_ns)
{
	struct process *process;
	int err;

	if (process_is_foreign(pid) || mmap->is_data || mmap->length == 0 || mmap->length > UINT64_MAX - mmap->start)
		return 0;
	process = process_ensure(attribution->processes, pid);
	if (!process)
		return -ENOMEM;
	process->mapped_ns = time_ns;
	err = map_image(attribution, process, mmap, time_ns);
	if (!err && attribution->jit)
		err = jit_processes_map(attribution->jit, process, mmap->path);
	if (err)
		process->incomplete = true;
	return err;
}

static int
apply_comm(struct attribution *attribution, const struct record *record)
{
	const char *comm = record->comm.name ? record->comm.name : "";
	struct process *process;

	if (process_is_foreign(record->pid))
		return 0;
	if (!record->comm.is_exec && record->tid != record->pid)
		return 0; /* the name of a thread */
	process = process_ensure(attribution->processes, record->pid);
	if (!process)
		return -ENOMEM;
	if (record->comm.is_exec) {
		process_exec(process, comm);
		process->exec_ns = record->time;
	} else {
		process_rename(process, comm);
	}
	return 0;
}

static int
apply_fork(struct attribution *attribution, const struct record *record)
{
	struct process *parent, *child;

	if (process_is_foreign(record->pid))
		return 0;
	if (record->pid == record->task.parent_pid) { /* a thread */
		child = process_ensure(attribution->processes, record->pid);
		if (!child)
			return -ENOMEM;
		child->one_thread = false;
		return 0;
	}
	child = process_replace(attribution->processes, record->pid);
	if (!child)
		return -ENOMEM;
	child->parent = record->task.parent_pid;
	child->begun_ns = child->exec_ns = record->time;
	parent = process_find(attribution->processes, record->task.parent_pid);
	if (!parent)
		return 0;
	/* the label is inherited in process_labels_follow(), also when a scan has read the child later */
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
	if (!process)
		return 0;
	process_end(attribution->processes, process, record->time);
	if (process->one_thread) /* from now on it runs in the kernel only */
		process_clear(process);
	return 0;
}

static int
apply_to_process(struct attribution *attribution, const struct record *record)
{
	switch (record->type) {
	case RECORD_MMAP:
		return apply_mmap(attribution, record->pid, &record->mmap, record->time);
	case RECORD_COMM:
		return apply_comm(attribution, record);
	case RECORD_FORK:
		return apply_fork(attribution, record);
	case RECORD_EXIT:
		return apply_exit(attribution, record);
	default:
		return 0;
	}
}

int
attribution_apply(struct attribution *attribution, const struct record *record)
{
	const struct process *process;
	int err = 0;

	if (attribution->options.offline && record->type == RECORD_MMAP && record->pid == PROCESS_FOREIGN)
		return record->mode == CPU_MODE_KERNEL ? kernel_map_apply_mmap(attribution->kernel, &record->mmap) : 0;
	if (record->type == RECORD_KSYMBOL)
		return kernel_map_apply(attribution->kernel, record);
	if (record->type == RECORD_CGROUP)
		return cgroup_table_set(attribution->cgroups, record->cgroup.id,
		                        record->cgroup.path ? record->cgroup.path : "");
	process = process_find(attribution->processes, record->pid);
	if (!process || record->time >= process->scan_ns) /* else a scan has read the process later */
		err = apply_to_process(attribution, record);
	if (!err)
		process_labels_follow(attribution->labels, record);
	return err;
}

void
attribution_records_lost(struct attribution *attribution)
{
	attribution->records_lost = true;
}

struct process_labels *
attribution_labels(const struct attribution *attribution)
{
	return attribution->labels;
}

/* ---- processes that were read from /proc ---- */

/*
 * Memory that replaces a file's text: it begins and ends as huge pages do, and the file goes on behind it, at an offset
 * that leaves room for it. A mapping before it, if there is one, must continue the text, too.
 */
static bool
is_text_in_memory(struct address_space *space, const struct mapping *memory, const struct mapping *behind)
{
	uint64_t length = memory->end - memory->start;
	const struct mapping *before;

	if (memory->image->image.kind != IMAGE_ANON || behind->image->image.kind != IMAGE_USER ||
	    memory->end != behind->start || memory->start % HUGE_PAGE_SIZE != 0 || length % HUGE_PAGE_SIZE != 0 ||
	    behind->file_offset < length)
		return false;
	before = memory->start ? address_space_find(space, memory->start - 1) : NULL;
	return !before || (before->image == behind->image &&
	                   behind->file_offset - before->file_offset == behind->start - before->start);
}

/* Text that was moved to huge pages before the scan belongs to the file, as text that is moved later. */
static int
map_huge_text(struct attribution *attribution, struct process *process, uint64_t start)
{
	const struct mapping *behind = address_space_find(process->space, start);
	const struct mapping *memory = start ? address_space_find(process->space, start - 1) : NULL;

	if (!behind || !memory || !is_text_in_memory(process->space, memory, behind))
		return 0;
	return address_space_insert(&process->space, &attribution->budget, memory->start, memory->end,
	                            behind->file_offset - (memory->end - memory->start), behind->image);
}

void
attribution_found_begin(struct attribution *attribution, bool all)
{
	struct scan_reading *reading = &attribution->reading;

	reading->under_way++;
	if (!all)
		return;
	process_labels_scan_begin(attribution->labels);
	reading->began_ns = monotonic_ns();
	reading->known_ns = attribution->options.clock_ns();
	reading->records_lost = attribution->records_lost;
	attribution->records_lost = false; /* from here on: those that this reading does not make up for */
}

void
attribution_found_process_end(struct attribution *attribution)
{
	struct scan_reading *reading = &attribution->reading;
	struct process *process = reading->pid ? process_find(attribution->processes, reading->pid) : NULL;

	if (process && reading->newer)
		(void)address_space_lay_over(&process->space, &attribution->budget, reading->newer);
	if (process && reading->had_ended && !process->ended)
		process_end(attribution->processes, process, reading->ended_ns);
	address_space_release(reading->newer);
	reading->newer = NULL;
	reading->pid = 0;
}

int
attribution_found_process(struct attribution *attribution, const struct found_process *found)
{
	struct scan_reading *reading = &attribution->reading;
	struct process *process = process_find(attribution->processes, found->pid);

	attribution_found_process_end(attribution);
	if (process && process->exec_ns > found->time_ns)
		return 0;
	reading->had_ended = process && process->ended && process->ended_ns > found->time_ns;
	if (reading->had_ended)
		reading->ended_ns = process->ended_ns;
	else
		process = process_ensure(attribution->processes, found->pid);
	if (!process)
		return -ENOMEM;
	reading->pid = found->pid;
	reading->time_ns = found->time_ns;
	reading->any = false;
	if (!reading->had_ended)
		process_rename(process, found->comm);
	if (found->birth.start_ticks)
		return process_labels_scanned(attribution->labels, found->pid, &found->birth);
	return 0;
}

void
attribution_found_mapping(struct attribution *attribution, const struct record_mmap *mmap)
{
	struct scan_reading *reading = &attribution->reading;
	struct process *process = reading->pid ? process_find(attribution->processes, reading->pid) : NULL;

	if (!reading->pid)
		return;
	/* the first mapping replaces all older ones: those of a process that we may not read stay */
	if (process && !reading->any) {
		if (process->mapped_ns > reading->time_ns)
			reading->newer = address_space_share(process->space);
		process_clear(process);
		process->scan_ns = reading->time_ns;
		process->one_thread = false; /* not known */
		reading->any = true;
	}
	if (apply_mmap(attribution, reading->pid, mmap, reading->time_ns))
		return; /* out of memory: its samples will be counted as unknown */
	process = process_find(attribution->processes, reading->pid);
	if (process)
		(void)map_huge_text(attribution, process, mmap->start);
}

int
attribution_found_cgroup(struct attribution *attribution, uint64_t id, const char *path)
{
	return cgroup_table_set(attribution->cgroups, id, path);
}

void
attribution_found_end(struct attribution *attribution, bool all)
{
	struct scan_reading *reading = &attribution->reading;

	attribution_found_process_end(attribution);
	reading->under_way--;
	if (!all)
		return;
	process_labels_scan_end(attribution->labels, reading->known_ns);
	if (reading->records_lost)
		attribution->doubt_until_ns = attribution->options.clock_ns();
	reading->records_lost = false;
	attribution->scan_ns = monotonic_ns() - reading->began_ns;
}

/* ---- samples ---- */

/* Not inlined: few samples are the first of their process. 0, or 1 + UNKNOWN_MEMORY. */
__attribute__((noinline)) static int
intern_context(struct attribution *attribution, const struct record *record, const struct process *process,
               struct context_cache *cache)
{
	struct context context = {.comm = "", .cgroup = "", .label = ""};

	if (process) {
		context.comm = process->comm;
		context.label = label_text(process->label);
	} else if (cache == &attribution->idle) {
		context.comm = "swapper";
	}
	if (record->sample.cgroup != 0)
		context.cgroup = cgroup_table_find(attribution->cgroups, record->sample.cgroup);
	cache->session = 0;
	if (context_table_intern(attribution->context_table, &context, &cache->number))
		return 1 + UNKNOWN_MEMORY;
	cache->cgroup = record->sample.cgroup;
	cache->session = attribution->session;
	return 0;
}

/* `process` may be NULL. 0, or 1 + UNKNOWN_MEMORY. */
static inline int
fill_context(struct attribution *attribution, const struct record *record, struct process *process,
             struct sample_key *key)
{
	struct context_cache *cache = &attribution->nameless;
	int err = 0;

	if (process)
		cache = &process->context;
	else if (record->pid == PROCESS_IDLE && record->tid == PROCESS_IDLE && !attribution->nested)
		cache = &attribution->idle;
	if (cache->session != attribution->session || cache->cgroup != record->sample.cgroup)
		err = intern_context(attribution, record, process, cache);
	key->context = cache->number;
	return err;
}

/* The sample lies at `offset` of the image; process/image_table.h says what an offset is, by kind of image. */
static inline int
fill_image(struct mapped_image *image, uint64_t offset, struct sample_key *key)
{
	if (offset > OFFSET_MAX)
		return 1 + UNKNOWN_ADDRESS;
	if (mapped_image_number(image, &key->image))
		return 1 + UNKNOWN_MEMORY;
	key->offset = offset;
	return 0;
}

/* No process, or no mapping: records that were lost may be the reason. */
static int
unknown_or_lost(const struct attribution *attribution, const struct record *record, enum unknown_cause cause)
{
	const bool is_doubtful = attribution->records_lost || attribution->reading.records_lost ||
	                         record->time < attribution->doubt_until_ns;

	return 1 + (int)(is_doubtful ? UNKNOWN_RECORDS : cause);
}

/*
 * Memory without a file that a process executes is its run-time code, if that is tracked. Inline, as is what it calls:
 * each sample of user mode comes here.
 */
static inline int
fill_mapped(struct attribution *attribution, struct process *process, const struct mapping *mapping, uint64_t address,
            struct sample_key *key)
{
	struct mapped_image *code;
	uint64_t offset;

	if (!attribution->jit || !mapping->image->is_anonymous)
		return fill_image(mapping->image, address - mapping->start + mapping->file_offset, key);
	code = jit_processes_image(attribution->jit, process, mapping->start, address, &offset);
	return code ? fill_image(code, offset, key) : 1 + UNKNOWN_MEMORY;
}

/* Make room for the place of an image that has a new number. Not inlined: few samples are their image's first. */
__attribute__((noinline)) static bool
reserve_places(struct attribution *attribution, uint32_t number)
{
	const size_t before = attribution->place_capacity;
	struct seen_place *grown =
		array_grow(attribution->places, &attribution->place_capacity, number + 1, sizeof(*grown));

	if (!grown)
		return false;
	attribution->places = grown;
	memset(grown + before, 0, (attribution->place_capacity - before) * sizeof(*grown));
	return true;
}

/* Note where the file of the image can be found, and queue it if it was mapped since it was queued last. */
static inline void
note_place(struct attribution *attribution, uint32_t number, uint32_t pid, const struct mapping *mapping)
{
	const uint64_t mapped_ns = mapping->image->mapped_ns;
	struct seen_place *seen;

	if (number >= attribution->place_capacity && !reserve_places(attribution, number))
		return; /* without memory, its place stays unknown */
	seen = &attribution->places[number];
	seen->place = (struct image_place){pid, mapping->start, mapping->end};
	/* where the queue is full, the next sample tries again */
	if (mapped_ns <= seen->queued_ns || !attribution->live || attribution->file_count == SAMPLED_FILES_MAX)
		return;
	seen->queued_ns = mapped_ns + FILE_REREAD_NS;
	attribution->files[attribution->file_count++] = number;
}

static int
sample_kernel(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	struct process *process = NULL;
	const struct mapping *mapping;
	int cause;

	cause = kernel_map_find(attribution->kernel, record->sample.address, record->time, &mapping);
	if (!cause)
		cause = fill_image(mapping->image, record->sample.address - mapping->start + mapping->file_offset, key);
	if (cause)
		return cause;
	note_place(attribution, key->image, 0, mapping);
	if (!process_is_foreign(record->pid))
		process = process_find(attribution->processes, record->pid);
	return fill_context(attribution, record, process, key);
}

static int
sample_user(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	uint64_t address = record->sample.address;
	const struct mapping *mapping;
	struct process *process;
	int cause;

	if (process_is_foreign(record->pid))
		return 1 + UNKNOWN_NAMESPACE;
	process = process_find(attribution->processes, record->pid);
	if (!process)
		return unknown_or_lost(attribution, record, UNKNOWN_PROCESS);
	/* user code after the main thread's end is another thread's: the process lives on */
	if (process->ended && record->time > process->ended_ns + attribution->grace_ns / 2)
		process_outlive_main(attribution->processes, process, record->time);
	mapping = address_space_find(process->space, address);
	if (mapping) {
		cause = fill_mapped(attribution, process, mapping, address, key);
		if (!cause)
			note_place(attribution, key->image, record->pid, mapping);
	} else if (address >= VSYSCALL_START && address - VSYSCALL_START < VSYSCALL_SIZE) {
		cause = fill_image(attribution->vsyscall, address - VSYSCALL_START, key);
	} else {
		cause = process->incomplete ? 1 + UNKNOWN_MEMORY
		                            : unknown_or_lost(attribution, record, UNKNOWN_ADDRESS);
	}
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

struct address_space *
attribution_share_space(struct attribution *attribution, uint32_t pid)
{
	const struct process *process = process_is_foreign(pid) ? NULL : process_find(attribution->processes, pid);

	return process && process->space ? address_space_share(process->space) : NULL;
}

int
attribution_sample_then(struct attribution *attribution, const struct attribution_moment *moment,
                        const struct record *record, struct sample_key *key)
{
	const struct mapping *mapping = address_space_find(moment->space, record->sample.address);
	struct process *process = process_find(attribution->processes, record->pid);
	int cause;

	if (!mapping)
		return 1 + UNKNOWN_ADDRESS;
	if (process && (process->ended || process->exec_ns > record->time))
		process = NULL; /* or another program */
	if (!process && attribution->jit && mapping->image->is_anonymous)
		return 1 + UNKNOWN_PROCESS; /* its code has gone with it */
	cause = fill_mapped(attribution, process, mapping, record->sample.address, key);
	/* a process that has ended is no place to find a file, unless nothing better is known */
	if (!cause && (process || attribution_place(attribution, key->image).end == 0))
		note_place(attribution, key->image, record->pid, mapping);
	key->context = moment->context;
	return cause;
}

int
attribution_sample_late(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	const struct process *process = process_find(attribution->processes, record->pid);

	if (process && process->exec_ns > record->time)
		return 1 + UNKNOWN_RECORDS;
	return attribution_sample(attribution, record, key);
}

bool
attribution_awaits(const struct attribution *attribution, const struct record *record, unsigned cause)
{
	return attribution->reading.under_way > 0 && record->mode == CPU_MODE_USER &&
	       (cause == UNKNOWN_PROCESS || cause == UNKNOWN_ADDRESS || cause == UNKNOWN_RECORDS);
}

struct image_place
attribution_place(const struct attribution *attribution, uint32_t number)
{
	return number < attribution->place_capacity ? attribution->places[number].place : (struct image_place){0};
}

bool
attribution_take_file(struct attribution *attribution, struct sampled_file *file)
{
	uint32_t number;

	if (attribution->file_count == 0)
		return false;
	number = attribution->files[--attribution->file_count];
	file->image = image_table_get(attribution->image_table, number);
	file->place = attribution->places[number].place;
	return true;
}

int
attribution_change_file(struct attribution *attribution, const struct image *image, uint32_t content)
{
	return mapped_images_change(attribution->images, image, content);
}

/* ---- expiry ---- */

/*
 * No process has this pid, not even one of which only the main thread has ended. Signal 0 needs no permission to report
 * that.
 */
static bool
is_gone(const struct process *process)
{
	return process->pid <= INT_MAX && tgkill((pid_t)process->pid, (pid_t)process->pid, 0) != 0 && errno == ESRCH;
}

/*
 * A lost record of an end would leave its process here for ever. So the kernel is asked, for a few processes per round
 * in turn, whether they live.
 */
static void
check_living(struct attribution *attribution, uint64_t time_ns)
{
	for (unsigned i = 0; i < CHECKS_PER_ROUND; i++) {
		struct process *process = process_next_living(attribution->processes);

		if (!process)
			return;
		if (is_gone(process)) {
			process_end(attribution->processes, process, time_ns);
			process_labels_ended(attribution->labels, process);
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
			process_outlive_main(attribution->processes, process, now_ns);
		else
			process_forget(attribution->processes, process);
	}
}

void
attribution_expire(struct attribution *attribution, uint64_t now_ns)
{
	if (attribution->live)
		check_living(attribution, now_ns);
	if (attribution->live && attribution->sees_cgroups &&
	    now_ns >= attribution->cgroups_checked_ns + CGROUP_CHECK_NS) {
		attribution->cgroups_checked_ns = now_ns;
		cgroup_table_expire(attribution->cgroups, attribution->options.cgroupfs, now_ns, attribution->grace_ns);
	}
	if (now_ns >= attribution->grace_ns)
		forget_ended(attribution, now_ns);
}

bool
attribution_take_jit_process(struct attribution *attribution, struct jit_process *process)
{
	return attribution->jit && jit_processes_take(attribution->jit, process);
}

void
attribution_reset_jit(struct attribution *attribution, uint32_t pid, uint64_t generation)
{
	if (attribution->jit)
		jit_processes_reset(attribution->jit, pid, generation);
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
