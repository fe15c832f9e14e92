#include "process/attribution_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/attribution_state.h"
#include "process/process_birth.h"

int
attribution_label(struct attribution *attribution, uint32_t pid, const char *text, enum label_start start,
                  uint64_t time_ns)
{
	struct labels_waiting *waiting = &attribution->waiting;
	struct label_waiting *list;
	struct label *label;

	if (waiting->count == LABELS_WAITING_MAX)
		return -EBUSY;
	list = array_grow(waiting->list, &waiting->capacity, waiting->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	waiting->list = list;
	label = labels_get(attribution->labels, text);
	if (!label)
		return -ENOMEM;
	/* in the order in which they are asked for */
	if (waiting->count && time_ns < list[waiting->count - 1].time_ns)
		time_ns = list[waiting->count - 1].time_ns;
	list[waiting->count++] = (struct label_waiting){
		.time_ns = time_ns,
		.pid = pid,
		.start = start,
		.label = label,
	};
	attribution->label_changes++;
	return 0;
}

uint64_t
attribution_next_label_ns(const struct attribution *attribution)
{
	return attribution->waiting.count ? attribution->waiting.list[0].time_ns : LABELS_WAIT_FOREVER;
}

/* Without memory for the process it has no label: its samples are counted all the same. */
static void
begin_label(struct attribution *attribution, const struct label_waiting *waiting)
{
	struct process *process = process_find(attribution->processes, waiting->pid);

	if (!process) /* nobody told that it began */
		process = process_ensure(attribution->processes, waiting->pid);
	if (!process)
		return;
	if (process->known_ns < waiting->time_ns)
		process->known_ns = waiting->time_ns;
	if (waiting->start == LABEL_AT_ONCE)
		process_label(process, waiting->label);
	else
		process_label_at_exec(process, waiting->label);
	process_count_label(process, waiting->time_ns);
	attribution->label_changes++;
}

void
attribution_begin_labels(struct attribution *attribution, uint64_t time_ns)
{
	struct labels_waiting *waiting = &attribution->waiting;
	size_t begun = 0;

	for (; begun < waiting->count && waiting->list[begun].time_ns <= time_ns; begun++) {
		begin_label(attribution, &waiting->list[begun]);
		label_release(waiting->list[begun].label);
	}
	if (!begun)
		return;
	waiting->count -= begun;
	memmove(waiting->list, waiting->list + begun, waiting->count * sizeof(*waiting->list));
}

void
labels_waiting_fini(struct labels_waiting *waiting)
{
	for (size_t i = 0; i < waiting->count; i++)
		label_release(waiting->list[i].label);
	free(waiting->list);
}

/* Also where the rest of the record was passed by: of whose child it is, the record is the best witness. */
static void
follow_fork(struct attribution *attribution, const struct record *record)
{
	struct process *child = process_find(attribution->processes, record->pid);
	const struct process *parent = process_find(attribution->processes, record->task.parent_pid);
	struct label *label = parent ? parent->label : NULL;

	if (!child)
		return;
	if (child->known_ns < record->time)
		child->known_ns = record->time;
	if (!label && !child->label && !child->counted)
		return;
	process_label(child, label);
	process_count_label(child, record->time);
	attribution->label_changes++;
}

void
attribution_follow_label(struct attribution *attribution, const struct record *record)
{
	struct process *process;

	switch (record->type) {
	case RECORD_FORK:
		if (record->pid != record->task.parent_pid && !is_foreign(record->pid))
			follow_fork(attribution, record);
		return;
	case RECORD_COMM:
		process = record->comm.is_exec ? process_find(attribution->processes, record->pid) : NULL;
		if (process && process_take_label(process)) {
			process_count_label(process, record->time);
			attribution->label_changes++;
		}
		return;
	case RECORD_EXIT:
		process = record->tid == record->pid ? process_find(attribution->processes, record->pid) : NULL;
		if (process && (process->label || process->label_at_exec)) {
			process_count_label(process, record->time);
			attribution->label_changes++;
		}
		return;
	default:
		return;
	}
}

static int
has_label(void *context, struct process *process)
{
	(void)context;
	return process->label || process->label_at_exec;
}

bool
attribution_has_labels(const struct attribution *attribution)
{
	return attribution->waiting.count > 0 || process_each(attribution->processes, has_label, NULL);
}

uint64_t
attribution_label_changes(const struct attribution *attribution)
{
	return attribution->label_changes;
}

int
attribution_take_label_times(struct attribution *attribution, uint64_t known_ns,
                             int (*take)(void *context, const struct label_time *time), void *context)
{
	return labels_take(attribution->labels, known_ns, take, context);
}
