/* For how long the runs under labels lasted, for several selections at once: see selection_parts.h. */
#include "profile/selection_parts.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "profile/codec.h"
#include "profile/label_times.h"

static void
add_time(struct selection_parts *parts, const struct scope_slice *slice, const struct profile_label_time *time)
{
	struct selection_run *run = &parts->selection->run;

	if (run->elapsed_ns == 0 || time->begin_ns < run->begin_ns)
		run->begin_ns = time->begin_ns;
	if (time->end_ns > run->end_ns)
		run->end_ns = time->end_ns;
	run->elapsed_ns = add_saturating(run->elapsed_ns, time->elapsed_ns);
	parts->timed[selection_epoch_index(parts->selection, slice->epoch)] = true;
}

static int
compare_slice(const void *key, const void *element)
{
	const uint32_t id = *(const uint32_t *)key;
	const struct scope_slice *slice = element;

	return (id > slice->id) - (id < slice->id);
}

/* A time of a slice that was selected, for those whose label it is. */
static int
share_time(struct selection_parts *parts, size_t count, const struct scope *scope, const struct store_walk *walk)
{
	const struct scope_slice *slice;
	struct profile_label_time time;
	struct label_times_key key;
	int err;

	err = label_times_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	slice = bsearch(&key.slice, scope->slices, scope->slice_count, sizeof(*slice), compare_slice);
	if (!slice)
		return 0;
	err = label_time_decode(walk->value.mv_data, walk->value.mv_size, &time);
	for (size_t i = 0; i < count && !err; i++)
		if (parts[i].label && !parts[i].is_passed && fnmatch(parts[i].label, key.label, 0) == 0)
			add_time(&parts[i], slice, &time);
	return err;
}

/* A slice that was sampled under the label, in an epoch that does not know for how long, may be all of the run. */
static bool
is_known(const struct selection_parts *parts)
{
	for (size_t i = 0; i < parts->scope->slice_count; i++)
		if (parts->matched[i] &&
		    !parts->timed[selection_epoch_index(parts->selection, parts->scope->slices[i].epoch)])
			return false;
	return parts->selection->run.elapsed_ns > 0;
}

int
selection_read_runs(struct selection_parts *parts, size_t count)
{
	const struct selection_parts *lead = NULL;
	struct store_walk walk;
	uint8_t first[4];
	int result;

	for (size_t i = 0; i < count; i++)
		if (!parts[i].is_passed && parts[i].label)
			lead = &parts[i];
	if (!lead || !lead->store->has[TABLE_LABEL_TIMES] || lead->scope->slice_count == 0)
		return 0;
	for (size_t i = 0; i < sizeof(first); i++)
		first[i] = (uint8_t)(lead->scope->slices[0].id >> 8 * (3 - i));
	result = store_walk_begin(lead->store, lead->txn, TABLE_LABEL_TIMES, &walk);
	if (result)
		return result;
	result = store_walk_seek(&walk, first, sizeof(first));
	while (!result && (result = store_walk_next(&walk)) > 0)
		result = share_time(parts, count, lead->scope, &walk);
	store_walk_end(&walk);
	for (size_t i = 0; i < count && !result; i++)
		if (!parts[i].is_passed)
			parts[i].selection->run.is_known = is_known(&parts[i]);
	return result;
}
