/* Labels where no record told: whose child a process is says /proc. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/attribution_labels.h"
#include "process/attribution_state.h"
#include "process/process_birth.h"

int
family_add(struct family *family, uint32_t pid, const struct process_birth *birth)
{
	struct kin *list = array_grow(family->list, &family->capacity, family->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	family->list = list;
	list[family->count++] = (struct kin){.pid = pid, .birth = *birth};
	return 0;
}

void
family_fini(struct family *family)
{
	free(family->list);
	memset(family, 0, sizeof(*family));
}

struct reading {
	const char *procfs;
	struct family family;
};

static int
add_kin(void *context, struct process *process)
{
	struct reading *reading = context;
	struct process_birth birth;

	if (process_birth_read(reading->procfs, process->pid, &birth))
		return 0; /* it has gone */
	return family_add(&reading->family, process->pid, &birth);
}

/* Parents before their children: of one tick, by pid, which the kernel gives in order. */
static int
compare_births(const void *left, const void *right)
{
	const struct kin *a = left, *b = right;

	if (a->birth.start_ticks != b->birth.start_ticks)
		return a->birth.start_ticks < b->birth.start_ticks ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Is it the process that had this pid when we last knew? */
static bool
is_known(const struct process *process, const struct kin *kin, const uint64_t *known_ticks)
{
	if (known_ticks)
		return process->label || kin->birth.start_ticks < *known_ticks;
	return process->known_ns && process_birth_monotonic_ns(kin->birth.start_ticks) <= (int64_t)process->known_ns;
}

/* Processes that are not known yet have the labels of their parents. Known is what began before `known_ticks` or has a
 * label already; NULL: what each process tells of itself. They count for it from `time_ns` on. */
static void
label_kin(struct attribution *attribution, struct family *family, const uint64_t *known_ticks, uint64_t time_ns)
{
	if (family->count)
		qsort(family->list, family->count, sizeof(*family->list), compare_births);
	for (size_t i = 0; i < family->count; i++) {
		const struct kin *kin = &family->list[i];
		struct process *process = process_find(attribution->processes, kin->pid);
		const struct process *parent = process_find(attribution->processes, kin->birth.parent);

		if (!process || process->ended || is_known(process, kin, known_ticks))
			continue;
		process_label(process, parent ? parent->label : NULL);
		process_label_at_exec(process, NULL);
		process_count_label(process, time_ns);
		attribution->label_changes++;
	}
}

static int
note_known(void *time_ns, struct process *process)
{
	if (process->begun_ns <= *(uint64_t *)time_ns && process->known_ns < *(uint64_t *)time_ns)
		process->known_ns = *(uint64_t *)time_ns;
	return 0;
}

static int
has_label(void *context, struct process *process)
{
	(void)context;
	return process->label != NULL;
}

void
attribution_find_kin(struct attribution *attribution, struct family *family, uint64_t time_ns)
{
	if (process_each(attribution->processes, has_label, NULL))
		label_kin(attribution, family, NULL, time_ns);
	process_each(attribution->processes, note_known, &time_ns);
}

/* ---- from one attribution to the next ---- */

struct labelling {
	const struct attribution *attribution;
	struct labelled_processes *labelled;
};

static int
add_labelled(struct labelling *labelling, uint32_t pid, const struct process_birth *birth, const struct label *label)
{
	struct labelled_processes *labelled = labelling->labelled;
	struct labelled_process *list;

	list = array_grow(labelled->list, &labelled->capacity, labelled->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	labelled->list = list;
	list += labelled->count++;
	list->pid = pid;
	list->start_ticks = birth->start_ticks;
	memset(list->label, 0, sizeof(list->label));
	memcpy(list->label, label_text(label), strnlen(label_text(label), sizeof(list->label) - 1));
	return 0;
}

static int
visit_labelled(void *context, struct process *process)
{
	struct labelling *labelling = context;
	const struct label *label = process->label_at_exec ? process->label_at_exec : process->label;
	struct process_birth birth;

	if (!label || process_birth_read(labelling->attribution->options.procfs, process->pid, &birth))
		return 0;
	if (process_birth_monotonic_ns(birth.start_ticks) > (int64_t)process->known_ns)
		return 0; /* a later one has its pid, and its records are still to come */
	return add_labelled(labelling, process->pid, &birth, label);
}

int
attribution_labelled(const struct attribution *attribution, uint64_t known_ns, struct labelled_processes *labelled)
{
	struct labelling labelling = {attribution, labelled};
	const struct labels_waiting *waiting = &attribution->waiting;
	struct process_birth birth;
	int err;

	memset(labelled, 0, sizeof(*labelled));
	labelled->known_ticks = process_birth_ticks(known_ns);
	err = process_each(attribution->processes, visit_labelled, &labelling);
	for (size_t i = 0; !err && i < waiting->count; i++) /* they come last, and have the last word */
		if (process_birth_read(attribution->options.procfs, waiting->list[i].pid, &birth) == 0)
			err = add_labelled(&labelling, waiting->list[i].pid, &birth, waiting->list[i].label);
	if (err)
		labelled_processes_fini(labelled);
	return err;
}

void
labelled_processes_fini(struct labelled_processes *labelled)
{
	free(labelled->list);
	memset(labelled, 0, sizeof(*labelled));
}

static int
label_again(struct attribution *attribution, const struct labelled_process *labelled, uint64_t time_ns)
{
	struct process *process = process_find(attribution->processes, labelled->pid);
	struct process_birth birth;
	struct label *label;

	if (process_birth_read(attribution->options.procfs, labelled->pid, &birth) ||
	    birth.start_ticks != labelled->start_ticks)
		return 0;
	if (!process) /* it began after the scan, and the record that tells is still to come */
		return attribution_label(attribution, labelled->pid, labelled->label, LABEL_AT_ONCE, time_ns);
	label = labels_get(attribution->labels, labelled->label);
	if (!label)
		return -ENOMEM;
	process_label(process, label);
	process_count_label(process, time_ns);
	label_release(label);
	attribution->label_changes++;
	return 0;
}

int
attribution_label_again(struct attribution *attribution, const struct labelled_processes *labelled, uint64_t time_ns)
{
	struct reading reading = {.procfs = attribution->options.procfs};
	int err = 0;

	for (size_t i = 0; !err && i < labelled->count; i++)
		err = label_again(attribution, &labelled->list[i], time_ns);
	if (!err && labelled->count)
		err = process_each(attribution->processes, add_kin, &reading);
	if (!err)
		label_kin(attribution, &reading.family, &labelled->known_ticks, time_ns);
	family_fini(&reading.family);
	return err;
}
