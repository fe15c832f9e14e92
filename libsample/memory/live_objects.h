/*
 * live_objects.h - which objects of a process live, by the events of its log; and the file in which it keeps them
 *
 * While nobody reads the log of a process, a thread of it does (tracker/keeper.c): so the log does not fill up, and who
 * reads it later knows the objects that are there by then. They are in a file beside the log, mapped and shared:
 *
 *   live_objects_header
 *   object_leaf[...]     (memory/object_map.h) leaves of the map, in any order; those not in use have no objects
 *
 * In these, struct object's `born` is CLOCK_MONOTONIC, ns, `node` is the CPU, and `kind` an enum object_log_kind.
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_MEMORY_LIVE_OBJECTS_H
#define DCPI_MEMORY_LIVE_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "memory/object_log.h"
#include "memory/object_map.h"

#define LIVE_OBJECTS_PREFIX "live." /* of the file's name; the rest is as of the log's */
#define LIVE_OBJECTS_MAGIC  UINT64_C(0x317665696c626364)

struct live_objects_header {
	uint64_t magic;
	uint64_t leaf_bytes;            /* of a leaf; leaves follow up to the end of the file */
	uint8_t padding[65536 - 2 * 8]; /* what follows is mapped: it begins at a page, also where pages have 64 KiB */
};

_Static_assert(sizeof(struct live_objects_header) == 65536, "leaves begin at a page");

struct live_objects;

/* `leaves` (NULL: of the heap) must outlive it. NULL: no memory. */
struct live_objects *live_objects_new(const struct object_leaves *leaves);
void live_objects_free(struct live_objects *live); /* NULL is allowed */

/* An event, in any order of threads. 0 or -ENOMEM. */
int live_objects_event(struct live_objects *live, uint32_t tid, const struct object_log_event *event);

/*
 * Apply the events up to `horizon`, in the order of time: nothing earlier comes any more. How many of them are lost,
 * because there was no room for what they make.
 */
size_t live_objects_advance(struct live_objects *live, uint64_t horizon);

const struct object_map *live_objects_map(const struct live_objects *live);

/* 0 or an error, at which live_objects_read() ends. The event is the object's beginning. */
typedef int live_objects_visit(void *context, uint32_t tid, const struct object_log_event *event);

/*
 * Visit each object of a process's file once; of one that changes meanwhile, some perhaps twice. An empty file has
 * none. Nothing in it is trusted: kinds are those of enum object_log_kind that make an object.
 *
 * 0; what a visit ended with; -EPROTO: it is no such file, or damaged; -ENOMEM; of fstat(), pread().
 */
int live_objects_read(int fd, live_objects_visit *visit, void *context);

#endif
