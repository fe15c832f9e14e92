#include "memory/object_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_OBJECTS OBJECT_LEAF_OBJECTS
#define LEAF_LEAST   32 /* a leaf with fewer is joined to its neighbour, if both fit */
#define GROUP_LEAVES 512

/* Leaves that follow each other; firsts[i] is the first address of leaf i. None is empty. */
struct group {
	uint32_t count;
	uint64_t firsts[GROUP_LEAVES];
	struct object_leaf *leaves[GROUP_LEAVES];
};

/* Groups, in order; none is empty. */
struct object_map {
	struct object_leaves leaves;
	struct group **groups;
	size_t group_count, group_room;
	size_t count, leaf_count;
};

/* Where an object is, or would be: before the one that is there. */
struct object_place {
	size_t group;
	uint32_t leaf, at;
};

/* ---- leaves ---- */

static struct object_leaf *
take_of_heap(void *context)
{
	(void)context;
	return malloc(sizeof(struct object_leaf));
}

static void
give_to_heap(void *context, struct object_leaf *leaf)
{
	(void)context;
	free(leaf);
}

/* An empty one. */
static struct object_leaf *
take_leaf(struct object_map *map)
{
	struct object_leaf *leaf = map->leaves.take(map->leaves.context);

	if (leaf)
		leaf->count = 0;
	return leaf;
}

static void
give_leaf(struct object_map *map, struct object_leaf *leaf)
{
	leaf->count = 0;
	map->leaves.give(map->leaves.context, leaf);
}

struct object_map *
object_map_new(const struct object_leaves *leaves)
{
	struct object_map *map = calloc(1, sizeof(*map));

	if (map)
		map->leaves = leaves ? *leaves : (struct object_leaves){take_of_heap, give_to_heap, NULL};
	return map;
}

void
object_map_free(struct object_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->group_count; i++) {
		for (uint32_t j = 0; j < map->groups[i]->count; j++)
			give_leaf(map, map->groups[i]->leaves[j]);
		free(map->groups[i]);
	}
	free(map->groups);
	free(map);
}

size_t
object_map_count(const struct object_map *map)
{
	return map->count;
}

size_t
object_map_bytes(const struct object_map *map)
{
	return sizeof(*map) + map->group_room * sizeof(*map->groups) + map->group_count * sizeof(struct group) +
	       map->leaf_count * sizeof(struct object_leaf);
}

/* ---- finding ---- */

/* How many of `count` ascending addresses, `stride` words apart, are at most `address`. */
static size_t
count_up_to(const uint64_t *addresses, size_t stride, size_t count, uint64_t address)
{
	size_t low = 0;

	while (low < count) {
		const size_t middle = low + (count - low) / 2;

		if (addresses[middle * stride] <= address)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

static struct object_leaf *
leaf_at(const struct object_map *map, struct object_place place)
{
	return map->groups[place.group]->leaves[place.leaf];
}

static struct object *
object_at(const struct object_map *map, struct object_place place)
{
	return &leaf_at(map, place)->objects[place.at];
}

/* The last group that begins at or before the address, or the first. */
static size_t
find_group(const struct object_map *map, uint64_t address)
{
	size_t low = 0, high = map->group_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (map->groups[middle]->firsts[0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* The place behind the last object that begins at or before the address; there is one object at least. */
static struct object_place
place_behind(const struct object_map *map, uint64_t address)
{
	struct object_place place = {.group = find_group(map, address)};
	const struct group *group = map->groups[place.group];
	const size_t leaves = count_up_to(group->firsts, 1, group->count, address);
	const struct object_leaf *leaf;

	place.leaf = leaves ? (uint32_t)leaves - 1 : 0;
	leaf = group->leaves[place.leaf];
	place.at = (uint32_t)count_up_to(&leaf->objects[0].address, sizeof(struct object) / sizeof(uint64_t),
	                                 leaf->count, address);
	return place;
}

/* The last object that begins at or before the address. False: there is none. */
static bool
find_before(const struct object_map *map, uint64_t address, struct object_place *place)
{
	if (!map->count)
		return false;
	*place = place_behind(map, address);
	if (place->at == 0)
		return false; /* it is the first of all: leaves begin with an object that they were found by */
	place->at--;
	return true;
}

static uint64_t
end_of(const struct object *object)
{
	return object->address + object->size;
}

const struct object *
object_map_find(const struct object_map *map, uint64_t address)
{
	struct object_place place;

	if (!find_before(map, address, &place) || end_of(object_at(map, place)) <= address)
		return NULL;
	return object_at(map, place);
}

/* The first object that begins at or behind the address. False: there is none. */
static bool
find_from(const struct object_map *map, uint64_t address, struct object_place *place)
{
	const struct group *group;

	if (!map->count)
		return false;
	if (address == 0)
		*place = (struct object_place){.group = 0};
	else
		*place = place_behind(map, address - 1);
	group = map->groups[place->group];
	if (place->at < group->leaves[place->leaf]->count)
		return true;
	place->at = 0;
	if (++place->leaf < group->count)
		return true;
	place->leaf = 0;
	return ++place->group < map->group_count;
}

/* ---- changing ---- */

/* Make room in an array of `count` for `more` elements of `size` bytes at `at`. */
static void
open_array(void *array, size_t count, size_t at, size_t more, size_t size)
{
	char *bytes = array;

	memmove(bytes + (at + more) * size, bytes + at * size, (count - at) * size);
}

static void
close_array(void *array, size_t count, size_t at, size_t size)
{
	char *bytes = array;

	memmove(bytes + at * size, bytes + (at + 1) * size, (count - at - 1) * size);
}

/* A group behind that at `at`, with its upper half. 0 or -ENOMEM. */
static int
split_group(struct object_map *map, size_t at)
{
	struct group *lower = map->groups[at], *upper;

	if (map->group_count == map->group_room) {
		const size_t room = map->group_room ? map->group_room * 2 : 16;
		struct group **grown = realloc(map->groups, room * sizeof(struct group *));

		if (!grown)
			return -ENOMEM;
		map->groups = grown;
		map->group_room = room;
	}
	upper = malloc(sizeof(*upper));
	if (!upper)
		return -ENOMEM;
	lower->count /= 2;
	upper->count = GROUP_LEAVES - lower->count;
	memcpy(upper->firsts, lower->firsts + lower->count, upper->count * sizeof(*upper->firsts));
	memcpy(upper->leaves, lower->leaves + lower->count, upper->count * sizeof(struct object_leaf *));
	open_array(map->groups, map->group_count, at + 1, 1, sizeof(struct group *));
	map->groups[at + 1] = upper;
	map->group_count++;
	return 0;
}

/*
 * A leaf behind that at `place`, with its upper half; if the next object comes behind them all, with the last alone:
 * heaps grow upwards, and leaves that are left behind should be full. 0 or -ENOMEM.
 */
static int
split_leaf(struct object_map *map, struct object_place place)
{
	struct group *group = map->groups[place.group];
	struct object_leaf *lower = group->leaves[place.leaf], *upper;
	uint32_t kept;

	if (group->count == GROUP_LEAVES) {
		const int err = split_group(map, place.group);

		if (err)
			return err;
		if (place.leaf >= group->count) {
			place.leaf -= group->count;
			group = map->groups[place.group + 1];
		}
	}
	upper = take_leaf(map);
	if (!upper)
		return -ENOMEM;
	kept = place.at == LEAF_OBJECTS ? LEAF_OBJECTS - 1 : LEAF_OBJECTS / 2;
	memcpy(upper->objects, lower->objects + kept, (LEAF_OBJECTS - kept) * sizeof(struct object));
	upper->count = LEAF_OBJECTS - kept; /* before they leave the lower one: who reads leaves misses none */
	lower->count = kept;
	open_array(group->leaves, group->count, place.leaf + 1, 1, sizeof(struct object_leaf *));
	open_array(group->firsts, group->count, place.leaf + 1, 1, sizeof(uint64_t));
	group->leaves[place.leaf + 1] = upper;
	group->firsts[place.leaf + 1] = upper->objects[0].address;
	group->count++;
	map->leaf_count++;
	return 0;
}

/* The first leaf of all. 0 or -ENOMEM. */
static int
make_first(struct object_map *map)
{
	struct group *group = malloc(sizeof(*group));
	struct object_leaf *leaf = group ? take_leaf(map) : NULL;

	if (!map->groups) {
		map->groups = malloc(16 * sizeof(struct group *));
		map->group_room = map->groups ? 16 : 0;
	}
	if (!leaf || !map->groups) {
		if (leaf)
			give_leaf(map, leaf);
		free(group);
		return -ENOMEM;
	}
	group->count = 1;
	group->firsts[0] = 0;
	group->leaves[0] = leaf;
	map->groups[0] = group;
	map->group_count = map->leaf_count = 1;
	return 0;
}

/* Enter an object where there is none. 0 or -ENOMEM. */
static int
insert(struct object_map *map, const struct object *object)
{
	struct object_place place;
	struct group *group;
	struct object_leaf *leaf;
	int err;

	err = map->count ? 0 : make_first(map);
	if (err)
		return err;
	place = map->count ? place_behind(map, object->address) : (struct object_place){.group = 0};
	if (leaf_at(map, place)->count == LEAF_OBJECTS) {
		err = split_leaf(map, place);
		if (err)
			return err;
		place = place_behind(map, object->address);
	}
	group = map->groups[place.group];
	leaf = group->leaves[place.leaf];
	open_array(leaf->objects, leaf->count, place.at, 1, sizeof(*object));
	leaf->objects[place.at] = *object;
	leaf->count++;
	group->firsts[place.leaf] = leaf->objects[0].address;
	map->count++;
	return 0;
}

static void
remove_leaf(struct object_map *map, struct object_place place)
{
	struct group *group = map->groups[place.group];

	give_leaf(map, group->leaves[place.leaf]);
	close_array(group->leaves, group->count, place.leaf, sizeof(struct object_leaf *));
	close_array(group->firsts, group->count, place.leaf, sizeof(uint64_t));
	map->leaf_count--;
	if (--group->count)
		return;
	free(group);
	close_array(map->groups, map->group_count, place.group, sizeof(struct group *));
	map->group_count--;
}

/* A small leaf and the next one of its group become one, if both fit with some room. */
static void
join_leaf(struct object_map *map, struct object_place place)
{
	struct group *group = map->groups[place.group];
	struct object_leaf *leaf, *following;

	if (place.leaf + 1 == group->count && place.leaf)
		place.leaf--;
	if (place.leaf + 1 >= group->count)
		return;
	leaf = group->leaves[place.leaf];
	following = group->leaves[place.leaf + 1];
	if (leaf->count + following->count > LEAF_OBJECTS - LEAF_LEAST)
		return;
	memcpy(leaf->objects + leaf->count, following->objects, following->count * sizeof(struct object));
	leaf->count += following->count;
	place.leaf++;
	remove_leaf(map, place);
}

static void
remove_object(struct object_map *map, struct object_place place)
{
	struct group *group = map->groups[place.group];
	struct object_leaf *leaf = group->leaves[place.leaf];

	close_array(leaf->objects, leaf->count, place.at, sizeof(struct object));
	leaf->count--;
	map->count--;
	if (!leaf->count) {
		remove_leaf(map, place);
		return;
	}
	group->firsts[place.leaf] = leaf->objects[0].address;
	if (leaf->count < LEAF_LEAST)
		join_leaf(map, place);
}

/* End the objects that begin from `address` to before `end`, and one before that reaches into this: as a whole. */
static void
clear(struct object_map *map, uint64_t address, uint64_t end, object_map_ended *ended, void *context)
{
	struct object_place place;

	if (address && find_before(map, address - 1, &place) && end_of(object_at(map, place)) > address) {
		if (ended)
			ended(context, object_at(map, place));
		remove_object(map, place);
	}
	while (find_from(map, address, &place) && object_at(map, place)->address < end) {
		if (ended)
			ended(context, object_at(map, place));
		remove_object(map, place);
	}
}

int
object_map_add(struct object_map *map, const struct object *object, object_map_ended *ended, void *context)
{
	clear(map, object->address, end_of(object), ended, context);
	return insert(map, object);
}

int
object_map_end(struct object_map *map, uint64_t address, struct object *object)
{
	struct object_place place;

	if (!find_before(map, address, &place) || object_at(map, place)->address != address)
		return -ENOENT;
	*object = *object_at(map, place);
	remove_object(map, place);
	return 0;
}

int
object_map_resize(struct object_map *map, uint64_t address, uint64_t size, object_map_ended *ended, void *context)
{
	struct object object;
	const int err = object_map_end(map, address, &object);

	if (err)
		return err;
	object.size = size;
	return object_map_add(map, &object, ended, context);
}

int
object_map_cut(struct object_map *map, uint64_t address, uint64_t size, object_map_ended *ended, void *context)
{
	const uint64_t room = UINT64_MAX - 1 - address, end = address + (size < room ? size : room);
	struct object before = {.size = 0}, behind = {.size = 0};
	struct object_place place;
	int err = 0;

	if (find_before(map, address, &place) && object_at(map, place)->address < address &&
	    end_of(object_at(map, place)) > address) {
		before = *object_at(map, place);
		if (end_of(&before) > end) {
			behind = before;
			behind.address = end;
			behind.size = end_of(&before) - end;
		}
		before.size = address - before.address;
		remove_object(map, place);
	}
	if (end && !behind.size && find_before(map, end - 1, &place) && object_at(map, place)->address >= address &&
	    end_of(object_at(map, place)) > end) {
		behind = *object_at(map, place);
		if (ended)
			ended(context, &behind);
		behind.size = end_of(&behind) - end;
		behind.address = end;
		remove_object(map, place);
	}
	clear(map, address, end, ended, context);
	if (before.size)
		err = insert(map, &before);
	if (!err && behind.size)
		err = insert(map, &behind);
	return err;
}

void
object_map_each(const struct object_map *map, object_map_ended *function, void *context)
{
	for (size_t i = 0; i < map->group_count; i++) {
		for (uint32_t j = 0; j < map->groups[i]->count; j++) {
			const struct object_leaf *leaf = map->groups[i]->leaves[j];

			for (uint32_t k = 0; k < leaf->count; k++)
				function(context, &leaf->objects[k]);
		}
	}
}
