#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"

size_t
selection_epoch_index(const struct selection *selection, uint32_t id)
{
	size_t low = 0, high = selection->epoch_count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (selection->epochs[middle].id <= id)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void
event_begin(struct selection_event *event, const struct event *from)
{
	memcpy(event->name, from->name, sizeof(event->name));
	memcpy(event->requested, from->requested, sizeof(event->requested));
	memcpy(event->unit, from->encoding.unit, sizeof(event->unit));
	memcpy(event->note, from->note, sizeof(event->note));
	event->period = from->period;
	event->rate = from->rate;
	event->cost_ns = from->cost_ns;
	event->is_truth = from->encoding.type == EVENT_TYPE_TRUTH;
	event->available = from->available && !event->is_truth;
}

/* Find or make the event that `from` is one with; its place, or an error. */
static int
merge_event(struct selection_parts *parts, const struct event *from)
{
	struct selection *selection = parts->selection;
	struct selection_event *events = selection->events;
	size_t count = selection->event_count;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(events[i].name, from->name) != 0)
			continue;
		if (events[i].rate != from->rate)
			events[i].rate = 0;
		events[i].available |= from->available && !events[i].is_truth;
		return (int)i;
	}
	if (count == SELECTION_EVENTS_MAX)
		return -E2BIG;
	events = array_grow(events, &parts->event_capacity, count + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	selection->events = events;
	memset(&events[count], 0, sizeof(events[count]));
	event_begin(&events[count], from);
	return (int)selection->event_count++;
}

static int
read_epoch(struct selection_parts *parts, size_t index)
{
	struct epoch *epoch = &parts->selection->epochs[index];
	uint32_t id = parts->scope->epochs[index];
	MDB_val value;
	int err;

	err = store_get(parts->store, parts->txn, TABLE_EPOCHS, id, &value);
	return err ? err : epoch_decode(id, value.mv_data, value.mv_size, epoch);
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
merge_events(struct selection_parts *parts, size_t index)
{
	const struct epoch *epoch = &parts->selection->epochs[index];
	struct event_map *map = &parts->event_maps[index];
	bool has_sum[EVENTS_MAX] = {false};

	for (size_t i = 0; i < epoch->event_count; i++) {
		const size_t weighed = epoch_weighed_event(epoch, i);
		int place;

		map->samples[i] = (uint16_t)(weighed < epoch->event_count ? weighed : i);
		if (map->samples[i] != i) {
			has_sum[weighed] = true;
			continue;
		}
		place = merge_event(parts, &epoch->events[i]);
		if (place < 0)
			return place;
		map->events[i] = (uint16_t)place;
	}
	for (size_t i = 0; i < epoch->event_count; i++) {
		map->events[i] = map->events[map->samples[i]];
		if (map->samples[i] == i && epoch->events[i].available)
			note_period(&parts->selection->events[map->events[i]].weights, epoch->events[i].period,
			            has_sum[i]);
	}
	return 0;
}

int
selection_merge_events(struct selection_parts *parts)
{
	int err = 0;

	/* The newest epoch first: it decides on order, names and notes. */
	for (size_t i = parts->selection->epoch_count; !err && i-- > 0;)
		err = merge_events(parts, i);
	return err;
}

int
selection_read_epochs(struct selection_parts *parts)
{
	struct selection *selection = parts->selection;
	size_t count = parts->scope->epoch_count;
	int err = 0;

	selection->epochs = calloc(count, sizeof(*selection->epochs));
	parts->event_maps = calloc(count, sizeof(*parts->event_maps));
	if (!selection->epochs || !parts->event_maps)
		return -ENOMEM;
	selection->epoch_count = count;
	for (size_t i = 0; !err && i < count; i++)
		err = read_epoch(parts, i);
	return err ? err : selection_merge_events(parts);
}

/* All that a slice has of the events, and of the sums that weigh them. */
static void
add_events(const struct selection_parts *parts, size_t epoch, const struct slice *slice, bool is_match)
{
	const struct event_map *map = &parts->event_maps[epoch];

	for (size_t i = 0; i < slice->event_count; i++) {
		const struct slice_event *counted = &slice->events[i];
		struct selection_event *event = &parts->selection->events[map->events[i]];
		struct selection_events *events = is_match ? &event->weights.matched : &event->weights.totals;
		const bool is_sum = map->samples[i] != i;
		const double worth = is_sum ? 1 : (double)parts->selection->epochs[epoch].events[i].period;

		events->samples += (double)counted->samples * worth;
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			events->unknown[cause] += (double)counted->unknown[cause] * worth;
		if (!is_sum)
			slice_event_add(is_match ? &event->matched : &event->totals, counted);
	}
}

static void
add_slice(struct selection_parts *parts, size_t epoch, const struct slice *slice)
{
	struct selection *selection = parts->selection;
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
	add_events(parts, epoch, slice, false);
	for (size_t i = 0; i < slice->event_count; i++) {
		const struct event_map *map = &parts->event_maps[epoch];

		if (map->samples[i] != i)
			continue;
		overhead_add(&selection->events[map->events[i]].overhead, selection->epochs[epoch].events,
		             slice->events, slice->event_count, i);
		overhead_add(overhead, selection->epochs[epoch].events, slice->events, slice->event_count, i);
	}
}

static void
add_match(struct selection_parts *parts, size_t epoch, const struct slice *slice)
{
	struct selection_match *match = &parts->selection->match;

	if (match->first_epoch == 0 || slice->start_ns < match->start_ns)
		match->start_ns = slice->start_ns;
	if (slice->end_ns > match->end_ns)
		match->end_ns = slice->end_ns;
	if (match->first_epoch == 0 || slice->epoch < match->first_epoch)
		match->first_epoch = slice->epoch;
	if (slice->epoch > match->last_epoch)
		match->last_epoch = slice->epoch;
	match->covered_ns = add_saturating(match->covered_ns, slice->end_ns - slice->start_ns);
	add_events(parts, epoch, slice, true);
}

int
selection_read_slices(struct selection_parts *parts)
{
	struct selection *selection = parts->selection;
	int err = 0;

	for (size_t i = 0; i < selection->epoch_count; i++)
		selection->overhead.start_ns =
			add_saturating(selection->overhead.start_ns, selection->epochs[i].start_cpu_ns);
	for (size_t i = 0; !err && i < parts->scope->slice_count; i++) {
		const struct scope_slice *chosen = &parts->scope->slices[i];
		size_t epoch = selection_epoch_index(selection, chosen->epoch);
		struct slice slice;
		MDB_val value;

		if (parts->label && !parts->matched[i])
			continue;
		err = store_get(parts->store, parts->txn, TABLE_SLICES, chosen->id, &value);
		if (!err)
			err = slice_decode(chosen->id, value.mv_data, value.mv_size, &slice);
		if (err)
			break;
		if (slice.event_count == selection->epochs[epoch].event_count)
			add_slice(parts, epoch, &slice);
		else
			err = -DCPI_EDAMAGED;
		if (!err && parts->matched[i])
			add_match(parts, epoch, &slice);
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

/* Where it is not known what some of the samples stand for, each counts as one; so it does where all are alike. */
static bool
needs_weights(const struct selection_weights *weights)
{
	if (weights->is_unknown)
		return false;
	return weights->beyond > 0 || weights->least != weights->most;
}

/* What is attributed is cut to whole units, as the counts are: both agree. */
static void
divide(const struct selection_events *events, uint64_t unit, struct slice_event *samples)
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
 * The shortest period is the unit, so that no sample counts for less than one. Where the kernel chose the periods, it
 * is their mean.
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
	divide(&weights->totals, event->period, &event->totals);
	divide(&weights->matched, event->period, &event->matched);
}

/*
 * What is left over where events are no multiple of the unit goes to the next place, so that any stretch of places has
 * its events but for one unit.
 */
void
selection_weigh(struct selection *selection)
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
