#include "profile/selection_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/codec.h"
#include "base/grow.h"

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
		if (events[i].period != from->period)
			events[i].period = 0;
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

static int
merge_events(struct selection_parts *parts, size_t index)
{
	const struct epoch *epoch = &parts->selection->epochs[index];

	for (size_t i = 0; i < epoch->event_count; i++) {
		int place = merge_event(parts, &epoch->events[i]);

		if (place < 0)
			return place;
		parts->event_maps[index].events[i] = (uint16_t)place;
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
	for (size_t i = 0; i < slice->event_count; i++) {
		uint16_t place = parts->event_maps[epoch].events[i];

		slice_event_add(&selection->events[place].totals, &slice->events[i]);
		overhead_add(&selection->events[place].overhead, &selection->epochs[epoch].events[i],
		             &slice->events[i]);
		overhead_add(overhead, &selection->epochs[epoch].events[i], &slice->events[i]);
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
	for (size_t i = 0; i < slice->event_count; i++)
		slice_event_add(&parts->selection->events[parts->event_maps[epoch].events[i]].matched,
		                &slice->events[i]);
}

int
selection_read_slices(struct selection_parts *parts)
{
	int err = 0;

	for (size_t i = 0; !err && i < parts->scope->slice_count; i++) {
		const struct scope_slice *chosen = &parts->scope->slices[i];
		size_t epoch = selection_epoch_index(parts->selection, chosen->epoch);
		struct slice slice;
		MDB_val value;

		if (parts->is_labelled && !parts->matched[i])
			continue;
		err = store_get(parts->store, parts->txn, TABLE_SLICES, chosen->id, &value);
		if (!err)
			err = slice_decode(chosen->id, value.mv_data, value.mv_size, &slice);
		if (err)
			break;
		if (slice.event_count == parts->selection->epochs[epoch].event_count)
			add_slice(parts, epoch, &slice);
		else
			err = -DCPI_EDAMAGED;
		if (!err && parts->matched[i])
			add_match(parts, epoch, &slice);
		slice_fini(&slice);
	}
	return err;
}
