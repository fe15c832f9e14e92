/*
 * object_event.h - what an event of an object log does to the objects that are alive
 *
 * Thread rule: one thread at a time for a map.
 */
#ifndef DCPI_MEMORY_OBJECT_EVENT_H
#define DCPI_MEMORY_OBJECT_EVENT_H

#include <stdbool.h>

#include "memory/object_log.h"
#include "memory/object_map.h"

/* Whether it makes an object: of any other kind than an end or another size. */
bool object_event_makes(const struct object_log_event *event);

/* Whether it ends one. Of events of one time, those are first: memory is freed before another thread gets it. */
bool object_event_ends(const struct object_log_event *event);

/*
 * The object that an event makes, without its number; an object of no bytes takes one. False: there is no such memory.
 */
bool object_event_object(const struct object_log_event *event, uint32_t tid, struct object *object);

/* The event that made the object; its kind is one of enum object_log_kind. */
struct object_log_event object_event_of(const struct object *object);

/*
 * Change the map; `made` is the object of an event that makes one, else NULL. `ended` (may be NULL) is called for those
 * that end. What ends or changes an object that began after the event is left out. 0 or -ENOMEM.
 */
int object_event_apply(struct object_map *map, const struct object_log_event *event, const struct object *made,
                       object_map_ended *ended, void *context);

#endif
