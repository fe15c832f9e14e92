/*
 * object_map.h - the memory objects that are alive, by address
 *
 * Objects do not overlap: a new one ends those whose place it takes, because their end was missed. They are in leaves
 * of a page, sorted by address, and leaves are found by their first address: an object takes 41 bytes where
 * addresses ascend and some 60 in any order, and finding one takes some 20 comparisons.
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_MEMORY_OBJECT_MAP_H
#define DCPI_MEMORY_OBJECT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct object {
	uint64_t address, size; /* size: 1 or more; the end is no more than 2^64 - 1 */
	uint64_t born;          /* when, ns */
	uint32_t site;          /* who made it, as the caller numbers them */
	uint32_t number;        /* among those of its site, from 1 on */
	uint32_t tid;           /* of the thread that made it */
	uint16_t node, kind;    /* on which that ran; what it is, as the caller has it */
};

#define OBJECT_LEAF_OBJECTS 102

/* A page. The map that has it keeps the objects sorted by address; without one there is no object in it. */
struct object_leaf {
	uint32_t count;
	uint32_t reserved;
	struct object objects[OBJECT_LEAF_OBJECTS];
	uint64_t reserved_too;
};

/* Where leaves come from: another memory than the heap's, which others may read. */
struct object_leaves {
	struct object_leaf *(*take)(void *context); /* NULL: there is no room */
	void (*give)(void *context, struct object_leaf *leaf);
	void *context;
};

struct object_map;

/* `leaves` (copied; NULL: from the heap) must outlive the map, which gives all back when it is freed. NULL: no memory.
 */
struct object_map *object_map_new(const struct object_leaves *leaves);
void object_map_free(struct object_map *map);

/* What is called for each object that ends. */
typedef void object_map_ended(void *context, const struct object *object);

/* Enter a copy of `object`; `ended` (may be NULL) is called for those whose place it takes. 0 or -ENOMEM. */
int object_map_add(struct object_map *map, const struct object *object, object_map_ended *ended, void *context);

/* The object that has the byte at `address`, until the map is changed; NULL: there is none. */
const struct object *object_map_find(const struct object_map *map, uint64_t address);

/* Change the size of the object that begins at `address`; others whose place that takes end. -ENOENT, -ENOMEM. */
int object_map_resize(struct object_map *map, uint64_t address, uint64_t size, object_map_ended *ended, void *context);

/*
 * End the objects that begin from `address` to before `address + size`; of an object that is there in part, what is
 * outside stays: in front as the object that it was, behind as an object of its own. A size beyond all memory is cut.
 * 0 or -ENOMEM.
 */
int object_map_cut(struct object_map *map, uint64_t address, uint64_t size, object_map_ended *ended, void *context);

/* End the object that begins at `address`, and copy it to `object`. -ENOENT: there is none. */
int object_map_end(struct object_map *map, uint64_t address, struct object *object);

size_t object_map_count(const struct object_map *map);
size_t object_map_bytes(const struct object_map *map); /* of memory that it takes: tests measure what is said above */

/* All objects, ascending. */
void object_map_each(const struct object_map *map, object_map_ended *function, void *context);

_Static_assert(sizeof(struct object_leaf) == 4096, "a leaf is a page");

#endif
