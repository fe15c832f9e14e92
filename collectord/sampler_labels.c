/* Labels of process trees, each from its own moment on: see sampler.h. */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectord/machine.h"

int
sampler_label(struct sampler *sampler, uint32_t pid, const char *label, enum label_start start, uint64_t time_ns)
{
	return process_labels_add(attribution_labels(sampler->attribution), pid, label, start, time_ns);
}

int
sampler_merge_until(struct sampler *sampler, uint64_t horizon, merge_sink *sink)
{
	uint64_t time_ns;
	int err;

	/* a sample ring is read in long runs: none of them may go past a moment at which a label begins */
	while ((time_ns = process_labels_next_ns(attribution_labels(sampler->attribution))) <= horizon) {
		err = merge_drain(sampler->merge, time_ns, sink, sampler);
		if (err)
			return err;
		recent_settle(&sampler->recent, sampler->tally);
		process_labels_begin(attribution_labels(sampler->attribution), time_ns);
	}
	err = merge_drain(sampler->merge, horizon, sink, sampler);
	if (!err)
		sampler->known_ns = horizon;
	return err;
}

uint64_t
sampler_label_changes(const struct sampler *sampler)
{
	return process_labels_changes(attribution_labels(sampler->attribution));
}

int
sampler_labelled(const struct sampler *sampler, struct labelled_processes *labelled)
{
	return process_labels_save(attribution_labels(sampler->attribution), sampler->known_ns, labelled);
}

/* Until all processes have been read, it is not known which of them run. */
int
sampler_label_again(struct sampler *sampler, const struct labelled_processes *labelled)
{
	struct labelled_process *list;

	if (proc_reader_is_at_all(sampler->reader) && labelled->count > 0) {
		list = reallocarray(NULL, labelled->count, sizeof(*list));
		if (!list)
			return -ENOMEM;
		memcpy(list, labelled->list, labelled->count * sizeof(*list));
		labelled_processes_fini(&sampler->again);
		sampler->again = *labelled;
		sampler->again.list = list;
		sampler->again.capacity = labelled->count;
		return 0;
	}
	return process_labels_restore(attribution_labels(sampler->attribution), labelled,
	                              machine_clock_ns(CLOCK_MONOTONIC));
}

/* Record time is CLOCK_MONOTONIC. */
struct dating {
	struct label_times *times;
	uint64_t offset_ns; /* from it to ns since 1970 */
};

static int
add_time(void *context, const struct label_time *time)
{
	const struct dating *dating = context;
	const struct profile_label_time dated = {
		.label = time->text,
		.begin_ns = time->begin_ns + dating->offset_ns,
		.end_ns = time->end_ns + dating->offset_ns,
		.elapsed_ns = time->elapsed_ns,
	};

	return label_times_add(dating->times, &dated);
}

void
sampler_take_label_times(struct sampler *sampler, uint64_t realtime_offset_ns, struct label_times *times)
{
	struct dating dating = {times, realtime_offset_ns};

	/* what there is no memory for now is told with the next take */
	(void)process_labels_take_times(attribution_labels(sampler->attribution), sampler->known_ns, add_time, &dating);
}
