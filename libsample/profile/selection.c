#include "profile/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/label_times.h"
#include "profile/profile_internal.h"
#include "profile/selection_internal.h"

void
selection_free(struct selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; i < selection->image_count; i++)
		free((void *)selection->images[i].image);
	free(selection->images);
	free(selection->counts);
	stack_nodes_fini(&selection->stacks);
	free(selection->events);
	free(selection->epochs);
	free(selection);
}

size_t
selection_epochs_matched(const struct selection *selection)
{
	size_t count = selection->epoch_count;

	if (selection->match.last_epoch == 0)
		return count;
	while (count > 0 && selection->epochs[count - 1].id > selection->match.last_epoch)
		count--;
	return count;
}

size_t
selection_epoch_index(const struct selection *selection, uint32_t id)
{
	return ARRAY_LOWER_BOUND(selection->epochs, selection->epoch_count, id, id);
}

/* Find or make the event of the name of `from`; its index, or an error. */
static int
merge_event(struct selection_builder *builder, const struct event *from)
{
	struct selection *selection = builder->selection;
	struct selection_event *event, *events = selection->events;
	const bool is_hidden =
		from->encoding.type == EVENT_TYPE_TRUTH || event_is_stacks(from) != builder->wants_stacks;
	size_t count = selection->event_count;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(events[i].name, from->name) != 0)
			continue;
		if (events[i].rate != from->rate)
			events[i].rate = 0;
		events[i].available |= from->available && !events[i].is_hidden;
		return (int)i;
	}
	if (count == SELECTION_EVENTS_MAX)
		return -E2BIG;
	event = ARRAY_APPEND(selection->events, selection->event_count, builder->event_capacity);
	if (!event)
		return -ENOMEM;
	*event = (struct selection_event){
		.period = from->period,
		.rate = from->rate,
		.cost_ns = from->cost_ns,
		.is_hidden = is_hidden,
		.available = from->available && !is_hidden,
	};
	memcpy(event->name, from->name, sizeof(event->name));
	memcpy(event->requested, from->requested, sizeof(event->requested));
	memcpy(event->unit, from->encoding.unit, sizeof(event->unit));
	memcpy(event->note, from->note, sizeof(event->note));
	return (int)count;
}

static void
note_period(struct selection_weights *weights, uint64_t period, bool has_sum)
{
	weights->has_sum |= has_sum;
	weights->is_unknown |= period == 0 && !has_sum;
	if (period && (weights->least == 0 || period < weights->least))
		weights->least = period;
	if (period > weights->most)
		weights->most = period;
}

static int
merge_events(struct selection_builder *builder, size_t index)
{
	const struct epoch *epoch = &builder->selection->epochs[index];
	struct event_map *map = &builder->event_maps[index];
	bool has_sum[EVENTS_MAX] = {false};

	for (size_t i = 0; i < epoch->event_count; i++) {
		const size_t weighed = epoch_weighed_event(epoch, i);
		int place;

		map->samples[i] = (uint16_t)(weighed < epoch->event_count ? weighed : i);
		if (map->samples[i] != i) {
			has_sum[weighed] = true;
			continue;
		}
		place = merge_event(builder, &epoch->events[i]);
		if (place < 0)
			return place;
		map->events[i] = (uint16_t)place;
	}
	for (size_t i = 0; i < epoch->event_count; i++) {
		map->events[i] = map->events[map->samples[i]];
		if (map->samples[i] == i && epoch->events[i].available)
			note_period(&builder->selection->events[map->events[i]].weights, epoch->events[i].period,
			            has_sum[i]);
	}
	return 0;
}

static int
merge_all_events(struct selection_builder *builder)
{
	int err = 0;

	/* The newest epoch first: it determines the order and the notes. */
	for (size_t i = builder->selection->epoch_count; !err && i-- > 0;)
		err = merge_events(builder, i);
	return err;
}

/* The epochs of the scope, and their events. */
static int
read_epochs(struct selection_builder *builder)
{
	struct selection *selection = builder->selection;
	size_t count = builder->scope->epoch_count;
	int err = 0;

	selection->epochs = calloc(count, sizeof(*selection->epochs));
	builder->event_maps = calloc(count, sizeof(*builder->event_maps));
	if (!selection->epochs || !builder->event_maps)
		return -ENOMEM;
	selection->epoch_count = count;
	for (size_t i = 0; !err && i < count; i++)
		err = epoch_read(builder->store, builder->txn, builder->scope->epochs[i], &selection->epochs[i]);
	return err ? err : merge_all_events(builder);
}

/* Add the totals of a slice to its events, sums that weigh them included. */
static void
add_slice_events(const struct selection_builder *builder, size_t epoch, const struct slice *slice, bool is_match)
{
	const struct event_map *map = &builder->event_maps[epoch];

	for (size_t i = 0; i < slice->event_count; i++) {
		const struct slice_event *counted = &slice->events[i];
		struct selection_event *event = &builder->selection->events[map->events[i]];
		struct selection_events *events = is_match ? &event->weights.matched : &event->weights.totals;
		const bool is_sum = map->samples[i] != i;
		const double worth = is_sum ? 1 : (double)builder->selection->epochs[epoch].events[i].period;

		events->samples += (double)counted->samples * worth;
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			events->unknown[cause] += (double)counted->unknown[cause] * worth;
		if (!is_sum)
			slice_event_add(is_match ? &event->matched : &event->totals, counted);
	}
}

static void
add_slice(struct selection_builder *builder, size_t epoch, const struct slice *slice)
{
	struct selection *selection = builder->selection;
	struct overhead *overhead = &selection->overhead;
	uint64_t length_ns = slice->end_ns - slice->start_ns;

	if (selection->slice_count == 0 || slice->start_ns < selection->start_ns)
		selection->start_ns = slice->start_ns;
	if (slice->end_ns > selection->end_ns)
		selection->end_ns = slice->end_ns;
	selection->slice_count++;
	selection->covered_ns = add_saturating(selection->covered_ns, length_ns);
	overhead->cpu_ns = add_saturating(
		overhead->cpu_ns, overhead_cpu_ns(selection->epochs[epoch].events, slice->events, slice->event_count,
	                                          length_ns, selection->epochs[epoch].cpu_count));
	overhead->daemon_ns = add_saturating(overhead->daemon_ns, slice->daemon_cpu_ns);
	selection->sideband_lost = add_saturating(selection->sideband_lost, slice->sideband_lost);
	selection->skipped = add_saturating(selection->skipped, slice->skipped);
	add_slice_events(builder, epoch, slice, false);
	for (size_t i = 0; i < slice->event_count; i++) {
		const struct event_map *map = &builder->event_maps[epoch];

		if (map->samples[i] != i)
			continue;
		overhead_add(&selection->events[map->events[i]].overhead, selection->epochs[epoch].events,
		             slice->events, slice->event_count, i);
		overhead_add(overhead, selection->epochs[epoch].events, slice->events, slice->event_count, i);
	}
}

static void
add_match(struct selection_builder *builder, size_t epoch, const struct slice *slice)
{
	struct selection_match *match = &builder->selection->match;

	if (match->first_epoch == 0 || slice->start_ns < match->start_ns)
		match->start_ns = slice->start_ns;
	if (slice->end_ns > match->end_ns)
		match->end_ns = slice->end_ns;
	if (match->first_epoch == 0 || slice->epoch < match->first_epoch)
		match->first_epoch = slice->epoch;
	if (slice->epoch > match->last_epoch)
		match->last_epoch = slice->epoch;
	match->covered_ns = add_saturating(match->covered_ns, slice->end_ns - slice->start_ns);
	add_slice_events(builder, epoch, slice, true);
}

/* Totals and times, also of the slices that had a match. */
static int
read_slices(struct selection_builder *builder)
{
	struct selection *selection = builder->selection;
	int err = 0;

	for (size_t i = 0; i < selection->epoch_count; i++)
		selection->overhead.start_ns =
			add_saturating(selection->overhead.start_ns, selection->epochs[i].start_cpu_ns);
	for (size_t i = 0; !err && i < builder->scope->slice_count; i++) {
		const struct scope_slice *chosen = &builder->scope->slices[i];
		size_t epoch = selection_epoch_index(selection, chosen->epoch);
		struct slice slice;

		if (builder->label && !builder->matched[i])
			continue;
		err = slice_read(builder->store, builder->txn, chosen->id, &slice);
		if (err)
			break;
		if (slice.event_count == selection->epochs[epoch].event_count)
			add_slice(builder, epoch, &slice);
		else
			err = -DCPI_EDAMAGED;
		if (!err && builder->matched[i])
			add_match(builder, epoch, &slice);
		slice_fini(&slice);
	}
	return err;
}

/* ---- what samples stand for ---- */

bool
selection_has_weights(const struct selection *selection)
{
	for (size_t i = 0; i < selection->event_count; i++) {
		const struct selection_weights *weights = &selection->events[i].weights;

		if (weights->has_sum || weights->least != weights->most)
			return true;
	}
	return false;
}

/* When the weight of some samples is not known, or all weights are equal, each sample counts as one. */
static bool
needs_weights(const struct selection_weights *weights)
{
	if (weights->is_unknown)
		return false;
	return weights->beyond > 0 || weights->least != weights->most;
}

/* The attributed part is rounded down to whole units, as the counts are, so that both agree. */
static void
divide_events(const struct selection_events *events, uint64_t unit, struct slice_event *samples)
{
	double attributed = events->samples;
	uint64_t unknown = 0;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		attributed -= events->unknown[cause];
		samples->unknown[cause] = (uint64_t)(events->unknown[cause] / (double)unit + .5);
		unknown = add_saturating(unknown, samples->unknown[cause]);
	}
	samples->samples = add_saturating(unknown, (uint64_t)(attributed / (double)unit));
}

/*
 * The unit is the shortest period, so that no sample counts for less than one; when the kernel chose the periods, their
 * mean.
 */
static void
choose_unit(struct selection_event *event)
{
	const struct selection_weights *weights = &event->weights;
	double mean = 0;

	if (event->available)
		event->period = weights->is_unknown ? 0 : weights->least;
	event->is_weighted = needs_weights(weights);
	if (!event->is_weighted)
		return;
	event->longest_period = weights->beyond > 0 ? 0 : weights->most;
	if (weights->varied_samples > 0)
		mean = weights->varied_events / (double)weights->varied_samples;
	if (event->period == 0 || (mean > 0 && mean < (double)event->period))
		event->period = mean >= 1 ? (uint64_t)(mean + .5) : 1;
	divide_events(&weights->totals, event->period, &event->totals);
	divide_events(&weights->matched, event->period, &event->matched);
}

/*
 * Weigh samples by the events that they stand for. A remainder of events below a unit is carried to the next count, so
 * that the sum over any range of offsets is right within one unit.
 */
static void
weigh(struct selection *selection)
{
	uint64_t left[SELECTION_EVENTS_MAX] = {0};
	size_t kept = 0;

	for (size_t i = 0; i < selection->event_count; i++) {
		struct selection_event *event = &selection->events[i];

		event->totals_taken = event->totals.samples;
		choose_unit(event);
		event->selected = event->is_weighted ? 0 : event->selected_taken;
		event->selected_squares = 0;
	}
	for (size_t i = 0; i < selection->count_count; i++) {
		struct selection_count *count = &selection->counts[i];
		struct selection_event *event = &selection->events[count->event];

		if (event->is_weighted) {
			const uint64_t events = add_saturating(count->count, left[count->event]);

			count->count = events / event->period;
			count->squares /= (double)event->period * (double)event->period;
			left[count->event] = events % event->period;
			event->selected = add_saturating(event->selected, count->count);
		} else {
			count->count = count->taken;
			count->squares = (double)count->taken;
		}
		event->selected_squares += count->squares;
		if (count->count || count->taken)
			selection->counts[kept++] = *count;
	}
	selection->count_count = kept;
	for (size_t i = 0; i < selection->event_count; i++) {
		struct selection_event *event = &selection->events[i];
		const double mean = event->selected ? event->selected_squares / (double)event->selected : 1;

		event->totals_squares = mean * (double)event->totals.samples;
	}
}

static int
keep_matched_epochs(struct selection_builder *builder)
{
	struct selection *selection = builder->selection;
	bool *wanted = calloc(selection->epoch_count + 1, sizeof(*wanted));
	size_t kept = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < builder->scope->slice_count; i++)
		if (builder->matched[i])
			wanted[selection_epoch_index(selection, builder->scope->slices[i].epoch)] = true;
	for (size_t i = 0; i < selection->epoch_count; i++)
		if (wanted[i])
			selection->epochs[kept++] = selection->epochs[i];
	selection->epoch_count = kept;
	free(wanted);
	return 0;
}

/* Copy the sums of an event to its new entry. */
static void
move_sums(const struct selection_event *from, struct selection_event *to)
{
	to->overhead = from->overhead;
	to->totals = from->totals;
	to->matched = from->matched;
	to->selected_taken = from->selected_taken;
	to->selected_events = from->selected_events;
	to->weights.beyond = from->weights.beyond;
	to->weights.varied_events = from->weights.varied_events;
	to->weights.varied_samples = from->weights.varied_samples;
	to->weights.totals = from->weights.totals;
	to->weights.matched = from->weights.matched;
}

/* Renumber the events of counts, which stay ascending by image, offset, event. */
static void
move_counts(struct selection *selection, const uint16_t *indices)
{
	struct selection_count *counts = selection->counts;

	for (size_t i = 0; i < selection->count_count; i++) {
		struct selection_count moved = counts[i];
		size_t at = i;

		moved.event = indices[moved.event];
		for (; at > 0 && counts[at - 1].image == moved.image && counts[at - 1].offset == moved.offset &&
		       counts[at - 1].event > moved.event;
		     at--)
			counts[at] = counts[at - 1];
		counts[at] = moved;
	}
}

static int
keep_matched_events(struct selection_builder *builder)
{
	struct selection *selection = builder->selection;
	struct selection_event *before = selection->events;
	const size_t count = selection->event_count;
	uint16_t indices[SELECTION_EVENTS_MAX];
	int err;

	selection->events = NULL;
	selection->event_count = builder->event_capacity = 0;
	err = merge_all_events(builder);
	for (size_t i = 0; !err && i < count; i++) {
		uint16_t index = 0;

		while (index < selection->event_count && strcmp(selection->events[index].name, before[i].name) != 0)
			index++;
		indices[i] = index;
		if (index < selection->event_count)
			move_sums(&before[i], &selection->events[index]);
	}
	if (!err)
		move_counts(selection, indices);
	free(before);
	return err;
}

/*
 * With a label, keep only epochs that have samples under it, and their events: a label is looked for in all epochs, and
 * the others may be of another year and another machine.
 */
static int
narrow_to_label(struct selection_builder *builder)
{
	int err;

	if (!builder->label || builder->selection->match.last_epoch == 0)
		return 0;
	err = keep_matched_epochs(builder);
	return err ? err : keep_matched_events(builder);
}

/* Add an entry of label_times of a selected slice to the selections whose label matches. */
static int
add_run_time(struct selection_builder *builders, size_t count, const struct scope *scope, const struct store_walk *walk)
{
	const struct scope_slice *slice;
	struct profile_label_time time;
	struct label_times_key key;
	int err;

	err = label_times_key_decode(walk->key.mv_data, walk->key.mv_size, &key);
	if (err)
		return err;
	slice = bsearch(&key.slice, scope->slices, scope->slice_count, sizeof(*slice), array_compare_u32);
	if (!slice)
		return 0;
	err = label_time_decode(walk->value.mv_data, walk->value.mv_size, &time);
	for (size_t i = 0; i < count && !err; i++) {
		struct selection_builder *builder = &builders[i];
		struct selection_run *run;

		if (!builder->label || builder->is_skipped || fnmatch(builder->label, key.label, 0) != 0)
			continue;
		run = &builder->selection->run;
		if (run->elapsed_ns == 0 || time.begin_ns < run->begin_ns)
			run->begin_ns = time.begin_ns;
		if (time.end_ns > run->end_ns)
			run->end_ns = time.end_ns;
		run->elapsed_ns = add_saturating(run->elapsed_ns, time.elapsed_ns);
		builder->timed[selection_epoch_index(builder->selection, slice->epoch)] = true;
	}
	return err;
}

/* False when an epoch has samples under the label but no times: the run may have been there. */
static bool
is_run_known(const struct selection_builder *builder)
{
	for (size_t i = 0; i < builder->scope->slice_count; i++)
		if (builder->matched[i] &&
		    !builder->timed[selection_epoch_index(builder->selection, builder->scope->slices[i].epoch)])
			return false;
	return builder->selection->run.elapsed_ns > 0;
}

/* Fill selection->run of each selection: how long the labelled runs lasted. */
static int
read_runs(struct selection_builder *builders, size_t count)
{
	const struct selection_builder *lead = NULL;
	struct store_walk walk;
	uint8_t first[4];
	int result;

	for (size_t i = 0; i < count; i++)
		if (!builders[i].is_skipped && builders[i].label)
			lead = &builders[i];
	if (!lead || !lead->store->has[TABLE_LABEL_TIMES] || lead->scope->slice_count == 0)
		return 0;
	put_be(first, lead->scope->slices[0].id, sizeof(first));
	store_walk_begin(lead->store, lead->txn, TABLE_LABEL_TIMES, &walk);
	store_walk_seek(&walk, first, sizeof(first));
	while ((result = store_walk_next(&walk)) > 0) {
		result = add_run_time(builders, count, lead->scope, &walk);
		if (result)
			break;
	}
	store_walk_end(&walk);
	for (size_t i = 0; i < count && !result; i++)
		if (!builders[i].is_skipped)
			builders[i].selection->run.is_known = is_run_known(&builders[i]);
	return result;
}

/* What selections that are read together share. */
struct selection_reader {
	struct store *store;
	MDB_txn *txn;
	struct scope scope;
	struct selection_builder *builders;
	size_t count;
	bool must_match; /* else a request that matches nothing is skipped */
};

/* Everything of one selection before the blocks. */
static int
begin_builder(struct selection_reader *reader, struct selection_builder *builder,
              const struct selection_request *request, char *why, size_t size)
{
	int err;

	builder->store = reader->store;
	builder->txn = reader->txn;
	builder->scope = &reader->scope;
	builder->label = request->label;
	builder->wants_stacks = request->stacks;
	err = context_filter_init(reader->store, reader->txn, request, &builder->filter, why, size);
	if (err == -DCPI_ENOSELECTION && !reader->must_match) {
		builder->is_skipped = true;
		return 0;
	}
	if (err)
		return err;
	builder->selection = calloc(1, sizeof(*builder->selection));
	builder->matched = calloc(reader->scope.slice_count + 1, sizeof(*builder->matched));
	builder->timed = calloc(reader->scope.epoch_count + 1, sizeof(*builder->timed));
	if (!builder->selection || !builder->matched || !builder->timed)
		return -ENOMEM;
	return read_epochs(builder);
}

/* Everything that needs the transaction. */
static int
copy_out(struct selection_reader *reader, const struct selection_request *const *requests, char *why, size_t size)
{
	int err;

	err = scope_choose(reader->store, reader->txn, requests[0], &reader->scope, why, size);
	if (err)
		return err;
	for (size_t i = 0; i < reader->count; i++) {
		err = begin_builder(reader, &reader->builders[i], requests[i], why, size);
		if (err)
			return err;
	}
	err = selection_read_counts(reader->builders, reader->count);
	if (err)
		return err;
	err = read_runs(reader->builders, reader->count);
	if (err)
		return err;
	for (size_t i = 0; i < reader->count; i++) {
		if (reader->builders[i].is_skipped)
			continue;
		err = read_slices(&reader->builders[i]);
		if (!err)
			err = narrow_to_label(&reader->builders[i]);
		if (!err && reader->builders[i].wants_stacks)
			err = selection_read_stacks(&reader->builders[i]);
		if (err)
			return err;
		weigh(reader->builders[i].selection);
	}
	return 0;
}

static bool
is_empty(const struct selection_builder *builder)
{
	return builder->is_skipped || (builder->selection->count_count == 0 && !builder->filter.all);
}

static int
read_all(struct profile *profile, struct selection_reader *reader, const struct selection_request *const *requests,
         struct selection **selections, char *why, size_t size)
{
	int err;

	if (size > 0)
		why[0] = '\0';
	reader->store = &profile->store;
	reader->builders = calloc(reader->count, sizeof(*reader->builders));
	if (!reader->builders)
		return -ENOMEM;
	err = store_begin(reader->store, false, &reader->txn);
	if (err)
		goto out;
	err = store_leave(reader->store, reader->txn, copy_out(reader, requests, why, size));
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0'; /* the sentence may be wrong */
	if (err)
		goto out;
	if (reader->must_match && is_empty(&reader->builders[0])) {
		snprintf(why, size, "what matches the patterns has no samples in the selected time");
		err = -DCPI_ENOSELECTION;
		goto out;
	}
	for (size_t i = 0; i < reader->count; i++) {
		selections[i] = NULL;
		if (is_empty(&reader->builders[i]))
			continue;
		selections[i] = reader->builders[i].selection;
		selections[i]->profile = profile;
		reader->builders[i].selection = NULL;
	}
out:
	for (size_t i = 0; i < reader->count; i++) {
		struct selection_builder *builder = &reader->builders[i];

		context_filter_fini(&builder->filter);
		selection_block_list_fini(&builder->blocks);
		free(builder->event_maps);
		free(builder->matched);
		free(builder->timed);
		selection_free(builder->selection);
	}
	free(reader->builders);
	scope_fini(&reader->scope);
	return err;
}

int
selection_read(struct profile *profile, const struct selection_request *request, struct selection **selection,
               char *why, size_t size)
{
	struct selection_reader reader = {.count = 1, .must_match = true};

	return read_all(profile, &reader, &request, selection, why, size);
}

int
selection_read_each(struct profile *profile, const struct selection_request *const *requests, size_t count,
                    struct selection **selections)
{
	struct selection_reader reader = {.count = count};
	char why[1] = "";

	return count > 0 ? read_all(profile, &reader, requests, selections, why, sizeof(why)) : 0;
}

static bool
texts_equal(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

bool
selection_shares_scope(const struct selection_request *left, const struct selection_request *right)
{
	return texts_equal(left->epoch, right->epoch) && texts_equal(left->host, right->host) &&
	       left->since_ns == right->since_ns && left->until_ns == right->until_ns && left->stacks == right->stacks;
}
