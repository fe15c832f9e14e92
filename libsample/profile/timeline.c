#include "profile/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "profile/catalog.h"
#include "profile/counts.h"
#include "profile/ids.h"
#include "profile/profile_internal.h"
#include "profile/store.h"

#define NO_EVENT EVENTS_MAX

/* Events of one image or context in one slice, before its name is known. */
struct raw_cell {
	uint32_t slice;
	uint32_t number; /* of the image or context in the database */
	double events;
};

/* A number and its name; later, its series. */
struct numbered_name {
	uint32_t number; /* first, for array_compare_u32() */
	uint32_t series;
	char *name;
};

struct timeline_reader {
	struct store *store;
	MDB_txn *txn;
	const struct timeline_request *request;
	struct timeline *timeline;
	struct scope scope;
	struct context_filter filter;
	struct raw_cell *raw; /* by slice of the time line and number, each pair once, but for the slice that is read */
	size_t raw_count, raw_capacity;
	struct numbered_name *names; /* ascending by number */
	size_t name_count;
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
};

/* Which events of an epoch are read. */
struct epoch_events {
	size_t event, sum; /* NO_EVENT: the epoch has none */
	double period;     /* of a sample; 1 where nothing is known */
};

static bool
is_countable(const struct epoch *epoch, size_t index)
{
	const struct event *event = &epoch->events[index];

	/* the offsets of stacks are nodes, in an image that is none */
	return event->available && event->encoding.type != EVENT_TYPE_TRUTH && !event_is_stacks(event) &&
	       epoch_weighed_event(epoch, index) == epoch->event_count;
}

/* The event's name and unit, from the newest epoch that has it. 0 or an error as timeline_read(). */
static int
choose_event(struct timeline_reader *reader, char *why, size_t size)
{
	struct timeline *timeline = reader->timeline;
	const char *wanted = reader->request->event;
	char shown[2 * EVENT_NAME_SIZE];

	for (size_t i = reader->scope.epoch_count; i-- > 0;) {
		struct epoch epoch;
		int err = epoch_read(reader->store, reader->txn, reader->scope.epochs[i], &epoch);

		if (err)
			return err;
		for (size_t k = 0; k < epoch.event_count; k++) {
			if (!is_countable(&epoch, k) || (wanted && strcmp(wanted, epoch.events[k].name) != 0))
				continue;
			snprintf(timeline->event, sizeof(timeline->event), "%s", epoch.events[k].name);
			snprintf(timeline->unit, sizeof(timeline->unit), "%s", epoch.events[k].encoding.unit);
			return 0;
		}
	}
	if (!wanted) {
		snprintf(why, size, "no event could be counted in the selected epochs");
		return -DCPI_ENOSELECTION;
	}
	snprintf(why, size, "no event '%s' was counted in the selected epochs: 'dcpiprof' shows which were",
	         escape_text(wanted, shown, sizeof(shown)));
	return -DCPI_ENOEVENT;
}

static struct epoch_events
find_events(const struct timeline_reader *reader, const struct epoch *epoch)
{
	struct epoch_events found = {.event = NO_EVENT, .sum = NO_EVENT, .period = 1};

	for (size_t i = 0; i < epoch->event_count; i++)
		if (is_countable(epoch, i) && strcmp(epoch->events[i].name, reader->timeline->event) == 0)
			found.event = i;
	if (found.event == NO_EVENT)
		return found;
	for (size_t i = 0; i < epoch->event_count; i++)
		if (epoch_weighed_event(epoch, i) == found.event)
			found.sum = i;
	if (epoch->events[found.event].period || found.sum != NO_EVENT)
		found.period = (double)epoch->events[found.event].period;
	return found;
}

/* ---- the blocks of a slice ---- */

static int
add_raw(struct timeline_reader *reader, uint32_t slice, uint32_t number, double events)
{
	struct raw_cell *last = reader->raw_count ? &reader->raw[reader->raw_count - 1] : NULL;

	/* blocks of one image follow each other */
	if (!last || last->slice != slice || last->number != number) {
		last = ARRAY_APPEND(reader->raw, reader->raw_count, reader->raw_capacity);
		if (!last)
			return -ENOMEM;
		*last = (struct raw_cell){.slice = slice, .number = number};
	}
	last->events += events;
	return 0;
}

/* Add the blocks of event `event` in slice `id`; each count stands for `worth` events. */
static int
read_blocks(struct timeline_reader *reader, uint32_t id, size_t event, double worth, uint32_t slice)
{
	const struct counts_key first_key = {.slice = id, .event = (uint16_t)event};
	uint8_t first[COUNTS_KEY_SIZE];
	struct store_walk walk;
	int result;

	counts_key_encode(&first_key, first);
	store_walk_begin(reader->store, reader->txn, TABLE_COUNTS, &walk);
	store_walk_seek(&walk, first, sizeof(first));
	while ((result = store_walk_next(&walk)) > 0) {
		struct counts_key key;
		uint64_t sum = 0;
		int pairs;

		result = counts_key_decode(walk.key.mv_data, walk.key.mv_size, &key);
		if (result || key.slice != id || key.event != event)
			break;
		if (!context_filter_has(&reader->filter, key.context))
			continue;
		pairs = counts_decode(walk.value.mv_data, walk.value.mv_size, reader->pairs);
		for (int i = 0; i < pairs; i++)
			sum += reader->pairs[i].count;
		result = pairs < 0 ? pairs
		                   : add_raw(reader, slice,
		                             reader->request->key == TIMELINE_IMAGE ? key.image : key.context,
		                             (double)sum * worth);
		if (result)
			break;
	}
	store_walk_end(&walk);
	return result > 0 ? 0 : result;
}

static int
compare_raw(const void *a, const void *b)
{
	const struct raw_cell *one = a, *other = b;

	if (one->slice != other->slice)
		return one->slice < other->slice ? -1 : 1;
	return array_compare_u32(&one->number, &other->number);
}

/* Sort the cells from `first` on, and add up those of one number. */
static void
merge_raw(struct timeline_reader *reader, size_t first)
{
	size_t kept = first;

	if (reader->raw_count - first > 1)
		qsort(&reader->raw[first], reader->raw_count - first, sizeof(*reader->raw), compare_raw);
	for (size_t i = first; i < reader->raw_count; i++) {
		if (kept > first && compare_raw(&reader->raw[kept - 1], &reader->raw[i]) == 0)
			reader->raw[kept - 1].events += reader->raw[i].events;
		else
			reader->raw[kept++] = reader->raw[i];
	}
	reader->raw_count = kept;
}

static void
fill_slice(const struct epoch *epoch, const struct slice *slice, const struct epoch_events *events,
           struct timeline_slice *filled)
{
	*filled = (struct timeline_slice){
		.epoch = slice->epoch,
		.cpu_count = epoch->cpu_count,
		.start_ns = slice->start_ns,
		.end_ns = slice->end_ns,
	};
	if (events->event == NO_EVENT)
		return;
	filled->events = (double)slice->events[events->event].samples * events->period;
	filled->unknown = (double)slice_event_unknown(&slice->events[events->event]) * events->period;
	if (events->sum == NO_EVENT)
		return;
	filled->events += (double)slice->events[events->sum].samples;
	filled->unknown += (double)slice_event_unknown(&slice->events[events->sum]);
}

static int
read_slice(struct timeline_reader *reader, const struct epoch *epoch, uint32_t id, uint32_t index)
{
	const struct epoch_events events = find_events(reader, epoch);
	const size_t first = reader->raw_count;
	struct slice slice;
	int err = slice_read(reader->store, reader->txn, id, &slice);

	if (err)
		return err;
	if (slice.event_count == epoch->event_count)
		fill_slice(epoch, &slice, &events, &reader->timeline->slices[index]);
	else
		err = -DCPI_EDAMAGED;
	slice_fini(&slice);
	if (!err && events.event != NO_EVENT)
		err = read_blocks(reader, id, events.event, events.period, index);
	if (!err && events.sum != NO_EVENT)
		err = read_blocks(reader, id, events.sum, 1, index);
	merge_raw(reader, first);
	return err;
}

static int
read_slices(struct timeline_reader *reader)
{
	const struct scope *scope = &reader->scope;
	struct epoch epoch = {0};
	int err = 0;

	reader->timeline->slices = calloc(scope->slice_count + 1, sizeof(*reader->timeline->slices));
	if (!reader->timeline->slices)
		return -ENOMEM;
	reader->timeline->slice_count = scope->slice_count;
	for (size_t i = 0; i < scope->slice_count && !err; i++) {
		if (i == 0 || scope->slices[i].epoch != epoch.id)
			err = epoch_read(reader->store, reader->txn, scope->slices[i].epoch, &epoch);
		if (!err)
			err = read_slice(reader, &epoch, scope->slices[i].id, (uint32_t)i);
	}
	return err;
}

/* ---- names ---- */

static int
read_name(struct timeline_reader *reader, struct numbered_name *name)
{
	struct context_record context;
	struct image_record image;
	const char *text = "?";
	MDB_val value;
	int err;

	if (reader->request->key == TIMELINE_IMAGE) {
		err = ids_read_image(reader->store, reader->txn, name->number, &image);
		text = image.image.path;
	} else {
		err = store_get(reader->store, reader->txn, TABLE_CONTEXTS, name->number, &value);
		if (!err)
			err = context_record_decode(value.mv_data, value.mv_size, &context);
		text = reader->request->key == TIMELINE_COMMAND ? context.comm : context.cgroup;
	}
	if (err)
		return err == -ENOENT ? -DCPI_EDAMAGED : err;
	name->name = strdup(text);
	return name->name ? 0 : -ENOMEM;
}

/* The names of all numbers in the cells. */
static int
read_names(struct timeline_reader *reader)
{
	struct numbered_name *names = calloc(reader->raw_count + 1, sizeof(*names));
	size_t kept = 0;
	int err = 0;

	reader->names = names;
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < reader->raw_count; i++)
		names[i].number = reader->raw[i].number;
	if (reader->raw_count > 1)
		qsort(names, reader->raw_count, sizeof(*names), array_compare_u32);
	for (size_t i = 0; i < reader->raw_count; i++)
		if (kept == 0 || names[kept - 1].number != names[i].number)
			names[kept++].number = names[i].number;
	for (size_t i = 0; i < kept && !err; i++, reader->name_count++)
		err = read_name(reader, &names[i]);
	return err;
}

static int
copy_out(struct timeline_reader *reader, char *why, size_t size)
{
	const struct selection_request *request = reader->request->selection;
	int err = scope_choose(reader->store, reader->txn, request, &reader->scope, why, size);

	if (!err)
		err = context_filter_init(reader->store, reader->txn, request, &reader->filter, why, size);
	if (!err)
		err = choose_event(reader, why, size);
	if (!err)
		err = read_slices(reader);
	return err ? err : read_names(reader);
}

/* ---- series: numbers of one name together ---- */

static int
compare_names(const void *a, const void *b)
{
	const struct numbered_name *one = *(const struct numbered_name *const *)a,
				   *other = *(const struct numbered_name *const *)b;

	return strcmp(one->name, other->name);
}

/* A series and where it was before it was sorted. */
struct sorted_series {
	struct timeline_series series;
	uint32_t before;
};

static int
compare_series(const void *a, const void *b)
{
	const struct sorted_series *one = a, *other = b;

	if (one->series.events != other->series.events)
		return one->series.events > other->series.events ? -1 : 1;
	return strcmp(one->series.name, other->series.name);
}

/* Give each name its series. */
static int
make_series(struct timeline_reader *reader)
{
	struct timeline *timeline = reader->timeline;
	struct numbered_name **order = calloc(reader->name_count + 1, sizeof(struct numbered_name *));

	timeline->series = calloc(reader->name_count + 1, sizeof(*timeline->series));
	if (!order || !timeline->series) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < reader->name_count; i++)
		order[i] = &reader->names[i];
	if (reader->name_count > 1)
		qsort(order, reader->name_count, sizeof(struct numbered_name *), compare_names);
	for (size_t i = 0; i < reader->name_count; i++) {
		if (i == 0 || strcmp(order[i - 1]->name, order[i]->name) != 0) {
			char *name = strdup(order[i]->name);

			if (!name) {
				free(order);
				return -ENOMEM;
			}
			timeline->series[timeline->series_count++].name = name;
		}
		order[i]->series = (uint32_t)timeline->series_count - 1;
	}
	free(order);
	return 0;
}

static int
sort_series(struct timeline *timeline)
{
	struct sorted_series *sorted = calloc(timeline->series_count + 1, sizeof(*sorted));
	uint32_t *after = calloc(timeline->series_count + 1, sizeof(*after));
	const int err = sorted && after ? 0 : -ENOMEM;

	if (!err) {
		for (uint32_t i = 0; i < timeline->series_count; i++)
			sorted[i] = (struct sorted_series){.series = timeline->series[i], .before = i};
		qsort(sorted, timeline->series_count, sizeof(*sorted), compare_series);
		for (uint32_t i = 0; i < timeline->series_count; i++) {
			timeline->series[i] = sorted[i].series;
			after[sorted[i].before] = i;
		}
		for (size_t i = 0; i < timeline->cell_count; i++)
			timeline->cells[i].series = after[timeline->cells[i].series];
	}
	free(sorted);
	free(after);
	return err;
}

/* A slice and where it was before it was sorted. */
struct sorted_slice {
	uint64_t start_ns; /* first, for array_compare_u64() */
	uint32_t before;
	struct timeline_slice slice;
};

static int
sort_slices(struct timeline *timeline)
{
	struct sorted_slice *sorted = calloc(timeline->slice_count + 1, sizeof(*sorted));
	uint32_t *after = calloc(timeline->slice_count + 1, sizeof(*after));
	const int err = sorted && after ? 0 : -ENOMEM;

	if (!err) {
		for (uint32_t i = 0; i < timeline->slice_count; i++)
			sorted[i] = (struct sorted_slice){
				.start_ns = timeline->slices[i].start_ns, .before = i, .slice = timeline->slices[i]};
		qsort(sorted, timeline->slice_count, sizeof(*sorted), array_compare_u64);
		for (uint32_t i = 0; i < timeline->slice_count; i++) {
			timeline->slices[i] = sorted[i].slice;
			after[sorted[i].before] = i;
		}
		for (size_t i = 0; i < timeline->cell_count; i++)
			timeline->cells[i].slice = after[timeline->cells[i].slice];
	}
	free(sorted);
	free(after);
	return err;
}

static int
compare_cells(const void *a, const void *b)
{
	const struct timeline_cell *one = a, *other = b;

	if (one->slice != other->slice)
		return one->slice < other->slice ? -1 : 1;
	return array_compare_u32(&one->series, &other->series);
}

/* Add up cells of one slice and series, which must be sorted. */
static void
merge_cells(struct timeline *timeline)
{
	size_t kept = 0;

	for (size_t i = 0; i < timeline->cell_count; i++) {
		if (kept > 0 && compare_cells(&timeline->cells[kept - 1], &timeline->cells[i]) == 0)
			timeline->cells[kept - 1].events += timeline->cells[i].events;
		else
			timeline->cells[kept++] = timeline->cells[i];
	}
	timeline->cell_count = kept;
}

static int
make_cells(struct timeline_reader *reader)
{
	struct timeline *timeline = reader->timeline;
	int err = make_series(reader);

	if (err)
		return err;
	timeline->cells = calloc(reader->raw_count + 1, sizeof(*timeline->cells));
	if (!timeline->cells)
		return -ENOMEM;
	for (size_t i = 0; i < reader->raw_count; i++) {
		const struct raw_cell *raw = &reader->raw[i];
		const size_t at = ARRAY_LOWER_BOUND(reader->names, reader->name_count, number, raw->number);
		const uint32_t series = reader->names[at].series;

		if (raw->events <= 0)
			continue;
		timeline->series[series].events += raw->events;
		timeline->cells[timeline->cell_count++] =
			(struct timeline_cell){.slice = raw->slice, .series = series, .events = raw->events};
	}
	err = sort_series(timeline);
	if (!err)
		err = sort_slices(timeline);
	if (err)
		return err;
	qsort(timeline->cells, timeline->cell_count, sizeof(*timeline->cells), compare_cells);
	merge_cells(timeline);
	return 0;
}

int
timeline_read(struct profile *profile, const struct timeline_request *request, struct timeline *timeline, char *why,
              size_t size)
{
	struct timeline_reader *reader = calloc(1, sizeof(*reader));
	int err;

	memset(timeline, 0, sizeof(*timeline));
	if (size > 0)
		why[0] = '\0';
	if (!reader)
		return -ENOMEM;
	reader->store = &profile->store;
	reader->request = request;
	reader->timeline = timeline;
	err = store_begin(reader->store, false, &reader->txn);
	if (!err)
		err = store_leave(reader->store, reader->txn, copy_out(reader, why, size));
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0'; /* the sentence may be wrong */
	if (!err)
		err = make_cells(reader);
	for (size_t i = 0; i < reader->name_count; i++)
		free(reader->names[i].name);
	free(reader->names);
	free(reader->raw);
	context_filter_fini(&reader->filter);
	scope_fini(&reader->scope);
	free(reader);
	return err;
}

void
timeline_fini(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->series_count; i++)
		free(timeline->series[i].name);
	free(timeline->series);
	free(timeline->slices);
	free(timeline->cells);
	memset(timeline, 0, sizeof(*timeline));
}
