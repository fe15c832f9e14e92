#include "process/process_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A label whose time has not come. */
struct waiting_label {
	uint64_t time_ns;
	uint32_t pid;
	enum label_start start;
	struct label *label;
};

/* A process as /proc shows it. */
struct scanned_process {
	uint32_t pid;
	struct proc_stat birth;
};

struct scanned_processes {
	size_t count, capacity;
	struct scanned_process *list;
};

struct process_labels {
	struct process_table *processes;
	const char *procfs;
	struct label_set *set;
	struct waiting_label *waiting; /* by time */
	size_t waiting_count, waiting_capacity;
	struct scanned_processes scanned;
	uint64_t changes;
};

struct process_labels *
process_labels_new(struct process_table *processes, const char *procfs)
{
	struct process_labels *labels = calloc(1, sizeof(*labels));

	if (!labels)
		return NULL;
	labels->processes = processes;
	labels->procfs = procfs;
	labels->set = label_set_new();
	if (!labels->set) {
		free(labels);
		return NULL;
	}
	return labels;
}

void
process_labels_free(struct process_labels *labels)
{
	if (!labels)
		return;
	for (size_t i = 0; i < labels->waiting_count; i++)
		label_release(labels->waiting[i].label);
	free(labels->waiting);
	free(labels->scanned.list);
	label_set_free(labels->set);
	free(labels);
}

int
process_labels_add(struct process_labels *labels, uint32_t pid, const char *text, enum label_start start,
                   uint64_t time_ns)
{
	struct waiting_label *waiting;
	struct label *label;

	if (labels->waiting_count == LABELS_WAITING_MAX)
		return -EBUSY;
	label = label_set_get(labels->set, text);
	waiting = label ? ARRAY_APPEND(labels->waiting, labels->waiting_count, labels->waiting_capacity) : NULL;
	if (!waiting) {
		label_release(label);
		return -ENOMEM;
	}
	/* in the order in which they are asked for */
	if (labels->waiting_count > 1 && time_ns < waiting[-1].time_ns)
		time_ns = waiting[-1].time_ns;
	*waiting = (struct waiting_label){.time_ns = time_ns, .pid = pid, .start = start, .label = label};
	labels->changes++;
	return 0;
}

uint64_t
process_labels_next_ns(const struct process_labels *labels)
{
	return labels->waiting_count ? labels->waiting[0].time_ns : LABELS_WAIT_FOREVER;
}

/* Without memory for the process it has no label: its samples are counted nevertheless. */
static void
begin_label(struct process_labels *labels, const struct waiting_label *waiting)
{
	struct process *process = process_find(labels->processes, waiting->pid);

	if (!process) /* the record of its beginning was lost */
		process = process_ensure(labels->processes, waiting->pid);
	if (!process)
		return;
	if (process->known_ns < waiting->time_ns)
		process->known_ns = waiting->time_ns;
	if (waiting->start == LABEL_AT_ONCE)
		process_label(process, waiting->label);
	else
		process_label_at_exec(process, waiting->label);
	process_count_label(process, waiting->time_ns);
	labels->changes++;
}

void
process_labels_begin(struct process_labels *labels, uint64_t time_ns)
{
	size_t begun = 0;

	for (; begun < labels->waiting_count && labels->waiting[begun].time_ns <= time_ns; begun++) {
		begin_label(labels, &labels->waiting[begun]);
		label_release(labels->waiting[begun].label);
	}
	if (!begun)
		return;
	labels->waiting_count -= begun;
	memmove(labels->waiting, labels->waiting + begun, labels->waiting_count * sizeof(*labels->waiting));
}

/* The record names the parent reliably, so it counts also when a scan has read the process later. */
static void
follow_fork(struct process_labels *labels, const struct record *record)
{
	struct process *child = process_find(labels->processes, record->pid);
	const struct process *parent = process_find(labels->processes, record->task.parent_pid);
	struct label *label = parent ? parent->label : NULL;

	if (!child)
		return;
	if (child->known_ns < record->time)
		child->known_ns = record->time;
	if (!label && !child->label && !child->counted)
		return;
	process_label(child, label);
	process_count_label(child, record->time);
	labels->changes++;
}

void
process_labels_follow(struct process_labels *labels, const struct record *record)
{
	struct process *process;

	switch (record->type) {
	case RECORD_FORK:
		if (record->pid != record->task.parent_pid && !process_is_foreign(record->pid))
			follow_fork(labels, record);
		return;
	case RECORD_COMM:
		process = record->comm.is_exec ? process_find(labels->processes, record->pid) : NULL;
		if (process && process_take_label(process)) {
			process_count_label(process, record->time);
			labels->changes++;
		}
		return;
	case RECORD_EXIT:
		process = record->tid == record->pid ? process_find(labels->processes, record->pid) : NULL;
		if (process && (process->label || process->label_at_exec)) {
			process_count_label(process, record->time);
			labels->changes++;
		}
		return;
	default:
		return;
	}
}

void
process_labels_ended(struct process_labels *labels, const struct process *process)
{
	labels->changes += process->label || process->label_at_exec;
}

bool
process_labels_any(const struct process_labels *labels)
{
	const struct process *process = NULL;

	while ((process = process_next(labels->processes, process)))
		if (process->label || process->label_at_exec)
			return true;
	return labels->waiting_count > 0;
}

uint64_t
process_labels_changes(const struct process_labels *labels)
{
	return labels->changes;
}

int
process_labels_take_times(struct process_labels *labels, uint64_t known_ns,
                          int (*take)(void *context, const struct label_time *time), void *context)
{
	return label_set_take(labels->set, known_ns, take, context);
}

/* ---- processes of which no record came: /proc names their parents ---- */

static int
scanned_add(struct scanned_processes *scanned, uint32_t pid, const struct proc_stat *birth)
{
	struct scanned_process *added = ARRAY_APPEND(scanned->list, scanned->count, scanned->capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct scanned_process){.pid = pid, .birth = *birth};
	return 0;
}

static void
scanned_fini(struct scanned_processes *scanned)
{
	free(scanned->list);
	memset(scanned, 0, sizeof(*scanned));
}

void
process_labels_scan_begin(struct process_labels *labels)
{
	scanned_fini(&labels->scanned);
}

int
process_labels_scanned(struct process_labels *labels, uint32_t pid, const struct proc_stat *birth)
{
	return scanned_add(&labels->scanned, pid, birth);
}

/* Parents before their children: within one tick by pid, which the kernel gives in ascending order. */
static int
compare_births(const void *left, const void *right)
{
	const struct scanned_process *a = left, *b = right;

	if (a->birth.start_ticks != b->birth.start_ticks)
		return a->birth.start_ticks < b->birth.start_ticks ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Is it a process that was known, and not a new one with its pid? `known_ticks`: label_children(). */
static bool
was_known(const struct process *process, const struct scanned_process *scanned, const uint64_t *known_ticks)
{
	if (known_ticks)
		return process->label || scanned->birth.start_ticks < *known_ticks;
	return process->known_ns && proc_stat_monotonic_ns(scanned->birth.start_ticks) <= (int64_t)process->known_ns;
}

/*
 * Give processes that were not known the labels of their parents, which count from `time_ns` on. Known are those that
 * began before `known_ticks` or have a label already; with NULL, those that began before their `known_ns`.
 */
static void
label_children(struct process_labels *labels, struct scanned_processes *scanned, const uint64_t *known_ticks,
               uint64_t time_ns)
{
	if (scanned->count)
		qsort(scanned->list, scanned->count, sizeof(*scanned->list), compare_births);
	for (size_t i = 0; i < scanned->count; i++) {
		const struct scanned_process *at = &scanned->list[i];
		struct process *process = process_find(labels->processes, at->pid);
		const struct process *parent = process_find(labels->processes, at->birth.parent);

		if (!process || process->ended || was_known(process, at, known_ticks))
			continue;
		process_label(process, parent ? parent->label : NULL);
		process_label_at_exec(process, NULL);
		process_count_label(process, time_ns);
		labels->changes++;
	}
}

void
process_labels_scan_end(struct process_labels *labels, uint64_t time_ns)
{
	struct process *process = NULL;
	bool any = false;

	while ((process = process_next(labels->processes, process)))
		any |= process->label != NULL;
	if (any)
		label_children(labels, &labels->scanned, NULL, time_ns);
	while ((process = process_next(labels->processes, process)))
		if (process->begun_ns <= time_ns && process->known_ns < time_ns)
			process->known_ns = time_ns;
	scanned_fini(&labels->scanned);
}

/* ---- from one attribution to the next ---- */

void
labelled_processes_fini(struct labelled_processes *labelled)
{
	free(labelled->list);
	memset(labelled, 0, sizeof(*labelled));
}

static int
labelled_add(struct labelled_processes *labelled, uint32_t pid, const struct proc_stat *birth,
             const struct label *label)
{
	struct labelled_process *added = ARRAY_APPEND(labelled->list, labelled->count, labelled->capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct labelled_process){.pid = pid, .start_ticks = birth->start_ticks};
	memcpy(added->label, label_text(label), strnlen(label_text(label), sizeof(added->label) - 1));
	return 0;
}

static int
save_process(const struct process_labels *labels, const struct process *process, struct labelled_processes *labelled)
{
	const struct label *label = process->label_at_exec ? process->label_at_exec : process->label;
	struct proc_stat birth;

	if (!label || proc_stat_read(labels->procfs, process->pid, &birth))
		return 0;
	if (proc_stat_monotonic_ns(birth.start_ticks) > (int64_t)process->known_ns)
		return 0; /* a later process has its pid, and the records of that are still to come */
	return labelled_add(labelled, process->pid, &birth, label);
}

int
process_labels_save(const struct process_labels *labels, uint64_t known_ns, struct labelled_processes *labelled)
{
	const struct process *process = NULL;
	struct proc_stat birth;
	int err = 0;

	memset(labelled, 0, sizeof(*labelled));
	labelled->known_ticks = proc_stat_ticks(known_ns);
	while (!err && (process = process_next(labels->processes, process)))
		err = save_process(labels, process, labelled);
	for (size_t i = 0; !err && i < labels->waiting_count; i++) /* the last entry of a process counts */
		if (proc_stat_read(labels->procfs, labels->waiting[i].pid, &birth) == 0)
			err = labelled_add(labelled, labels->waiting[i].pid, &birth, labels->waiting[i].label);
	if (err)
		labelled_processes_fini(labelled);
	return err;
}

static int
restore_label(struct process_labels *labels, const struct labelled_process *labelled, uint64_t time_ns)
{
	struct process *process = process_find(labels->processes, labelled->pid);
	struct proc_stat birth;
	struct label *label;

	if (proc_stat_read(labels->procfs, labelled->pid, &birth) || birth.start_ticks != labelled->start_ticks)
		return 0;
	if (!process) /* it began after the scan, and the record of that is still to come */
		return process_labels_add(labels, labelled->pid, labelled->label, LABEL_AT_ONCE, time_ns);
	label = label_set_get(labels->set, labelled->label);
	if (!label)
		return -ENOMEM;
	process_label(process, label);
	process_count_label(process, time_ns);
	label_release(label);
	labels->changes++;
	return 0;
}

int
process_labels_restore(struct process_labels *labels, const struct labelled_processes *labelled, uint64_t time_ns)
{
	struct scanned_processes scanned = {0};
	const struct process *process = NULL;
	struct proc_stat birth;
	int err = 0;

	for (size_t i = 0; !err && i < labelled->count; i++)
		err = restore_label(labels, &labelled->list[i], time_ns);
	while (!err && labelled->count && (process = process_next(labels->processes, process)))
		if (proc_stat_read(labels->procfs, process->pid, &birth) == 0) /* else it has gone */
			err = scanned_add(&scanned, process->pid, &birth);
	if (!err)
		label_children(labels, &scanned, &labelled->known_ticks, time_ns);
	scanned_fini(&scanned);
	return err;
}
