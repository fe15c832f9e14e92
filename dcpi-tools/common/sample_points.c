#include "dcpi-tools/common/sample_points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/hash.h"

/* A procedure of the list by its place: where another one lies inside it, its samples are in several runs. */
struct sample_points_known {
	struct sample_points_key {
		uint64_t offset;
		uint32_t image;
		uint32_t kind;
	} key;
	uint32_t procedure;
	UT_hash_handle hh;
};

struct sample_points_maker {
	const struct sample_points_request *request;
	struct sample_points *points;
	size_t capacity, procedure_capacity;
	struct sample_points_known *places;
};

static int
add_procedure(struct sample_points_maker *maker, uint32_t image, const struct procedure *procedure)
{
	struct sample_points *points = maker->points;
	struct sample_procedure *grown;

	grown = array_grow(points->procedures, &maker->procedure_capacity, points->procedure_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	points->procedures = grown;
	grown += points->procedure_count++;
	*grown = (struct sample_procedure){.procedure = *procedure, .image = image};
	grown->procedure.name = NULL; /* it belongs to the symbolizer, which the caller may free */
	grown->title =
		procedure_title(procedure, maker->request->selection->images[image].image, maker->request->demangle);
	grown->name = procedure->name ? strdup(procedure->name) : NULL;
	return grown->title && (grown->name || !procedure->name) ? 0 : -ENOMEM;
}

static int
find_procedure(struct sample_points_maker *maker, uint32_t image, const struct procedure *procedure, uint32_t *index)
{
	const struct sample_points_key key = {procedure->offset, image, procedure->kind};
	struct sample_points_known *place;
	int err;

	HASH_FIND(hh, maker->places, &key, sizeof(key), place);
	if (place) {
		*index = place->procedure;
		return 0;
	}
	place = calloc(1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	place->key = key;
	place->procedure = *index = (uint32_t)maker->points->procedure_count;
	err = add_procedure(maker, image, procedure);
	if (!err) {
		HASH_ADD(hh, maker->places, key, sizeof(place->key), place);
		err = hash_added(place) ? 0 : -ENOMEM;
	}
	if (err)
		free(place);
	return err;
}

/* The point whose counts begin with `first`. */
static struct sampled_offset
point_at(const struct selection *selection, size_t first)
{
	const struct selection_count *counts = selection->counts;
	struct sampled_offset point = {.offset = counts[first].offset, .image = counts[first].image, .first = first};
	size_t end = first;

	while (end < selection->count_count && counts[end].image == point.image && counts[end].offset == point.offset)
		end++;
	point.event_count = end - first;
	return point;
}

static bool
is_wanted(const struct sample_points_request *request, const struct sampled_offset *point)
{
	const struct selection_count *counts = &request->selection->counts[point->first];

	if (request->wanted && !request->wanted[point->image])
		return false;
	for (size_t i = 0; request->shown_events && i < request->shown_events->count; i++)
		for (size_t j = 0; j < point->event_count; j++)
			if (counts[j].event == request->shown_events->events[i] && counts[j].count > 0)
				return true;
	return !request->shown_events;
}

static int
add_point(struct sample_points_maker *maker, struct sampled_offset *point)
{
	const struct sample_points_request *request = maker->request;
	struct sample_points *points = maker->points;
	struct procedure procedure;
	struct sampled_offset *grown;
	int err = 0;

	grown = array_grow(points->points, &maker->capacity, points->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	points->points = grown;
	if (request->symbolizer)
		err = symbolizer_find(request->symbolizer, &request->selection->images[point->image], point->offset,
		                      &procedure);
	if (request->symbolizer && !err)
		err = find_procedure(maker, point->image, &procedure, &point->procedure);
	if (!err)
		grown[points->count++] = *point;
	return err;
}

/* ---- frames of stacks ---- */

static int
compare_points(const void *left, const void *right)
{
	const struct sampled_offset *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

bool
sample_points_has_stack(const struct sample_points_request *request, const struct selection_count *count)
{
	const struct selection *selection = request->selection;

	if (count->count == 0 ||
	    (request->wanted && !request->wanted[selection->stacks.nodes[(uint32_t)count->offset].image]))
		return false; /* the innermost frame always has an image */
	for (size_t i = 0; request->shown_events && i < request->shown_events->count; i++)
		if (count->event == request->shown_events->events[i])
			return true;
	return !request->shown_events;
}

/* The frames of all stacks, by image and offset; `frames` has room for each node. How many. */
static size_t
collect_frames(const struct sample_points_request *request, bool *seen, struct sampled_offset *frames)
{
	const struct selection *selection = request->selection;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < selection->count_count; i++) {
		if (!sample_points_has_stack(request, &selection->counts[i]))
			continue;
		for (uint32_t at = (uint32_t)selection->counts[i].offset; at && !seen[at];
		     at = selection->stacks.nodes[at].caller) {
			const struct stack_node *node = &selection->stacks.nodes[at];

			seen[at] = true;
			if (node->image != STACK_NO_IMAGE)
				frames[count++] = (struct sampled_offset){.offset = node->offset, .image = node->image};
		}
	}
	if (count > 0)
		qsort(frames, count, sizeof(*frames), compare_points);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_points(&frames[kept - 1], &frames[i]) != 0)
			frames[kept++] = frames[i];
	return kept;
}

static int
add_frames(struct sample_points_maker *maker)
{
	const size_t nodes = (size_t)maker->request->selection->stacks.count + 1;
	struct sampled_offset *frames = calloc(nodes, sizeof(*frames));
	bool *seen = calloc(nodes, sizeof(*seen));
	size_t count;
	int err = frames && seen ? 0 : -ENOMEM;

	if (!err) {
		count = collect_frames(maker->request, seen, frames);
		for (size_t i = 0; i < count && !err; i++)
			err = add_point(maker, &frames[i]);
	}
	free(seen);
	free(frames);
	return err;
}

const struct sampled_offset *
sample_points_frame(const struct sample_points *points, uint32_t node)
{
	const struct stack_node *frame = &points->selection->stacks.nodes[node];
	const struct sampled_offset key = {.offset = frame->offset, .image = frame->image};

	if (frame->image == STACK_NO_IMAGE)
		return NULL;
	return bsearch(&key, points->points, points->count, sizeof(key), compare_points);
}

/* ---- all ---- */

static int
add_samples(struct sample_points_maker *maker)
{
	const struct sample_points_request *request = maker->request;
	int err = 0;

	for (size_t i = 0; i < request->selection->count_count && !err;) {
		struct sampled_offset point = point_at(request->selection, i);

		if (is_wanted(request, &point))
			err = add_point(maker, &point);
		i += point.event_count;
	}
	return err;
}

int
sample_points_make(const struct sample_points_request *request, struct sample_points *points)
{
	struct sample_points_maker maker = {.request = request, .points = points};
	struct sample_points_known *place, *next;
	int err;

	memset(points, 0, sizeof(*points));
	points->selection = request->selection;
	err = request->selection->stacks.count > 0 ? add_frames(&maker) : add_samples(&maker);
	place = maker.places;
	HASH_CLEAR(hh, maker.places);
	for (; place; place = next) {
		next = place->hh.next;
		free(place);
	}
	if (err)
		sample_points_fini(points);
	return err;
}

void
sample_points_fini(struct sample_points *points)
{
	for (size_t i = 0; i < points->procedure_count; i++) {
		free(points->procedures[i].title);
		free(points->procedures[i].name);
	}
	free(points->procedures);
	free(points->points);
	memset(points, 0, sizeof(*points));
}

static const struct selection_count *
count_of(const struct sample_points *points, const struct sampled_offset *point, uint16_t event)
{
	const struct selection_count *counts = &points->selection->counts[point->first];

	for (size_t i = 0; i < point->event_count; i++)
		if (counts[i].event == event)
			return &counts[i];
	return NULL;
}

uint64_t
sample_points_samples(const struct sample_points *points, const struct sampled_offset *point, uint16_t event)
{
	const struct selection_count *count = count_of(points, point, event);

	return count ? count->count : 0;
}

uint64_t
sample_points_taken(const struct sample_points *points, const struct sampled_offset *point, uint16_t event)
{
	const struct selection_count *count = count_of(points, point, event);

	return count ? count->taken : 0;
}
