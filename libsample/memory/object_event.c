#include "memory/object_event.h"

#include <errno.h>
#include <stddef.h>

bool
object_event_ends(const struct object_log_event *event)
{
	return event->kind == OBJECT_DIED || event->kind == OBJECT_UNMAPPED;
}

bool
object_event_makes(const struct object_log_event *event)
{
	return !object_event_ends(event) && event->kind != OBJECT_RESIZED;
}

bool
object_event_object(const struct object_log_event *event, uint32_t tid, struct object *object)
{
	*object = (struct object){
		.address = event->address,
		.size = event->size ? event->size : 1,
		.born = event->time,
		.site = event->site,
		.tid = tid,
		.node = event->cpu,
		.kind = event->kind,
	};
	return object->address < UINT64_MAX - object->size;
}

struct object_log_event
object_event_of(const struct object *object)
{
	return (struct object_log_event){
		.time = object->born,
		.address = object->address,
		.size = object->size,
		.site = object->site,
		.cpu = object->node,
		.kind = (uint8_t)object->kind,
	};
}

static void
end_object(struct object_map *map, uint64_t address, object_map_ended *ended, void *context)
{
	struct object object;

	if (object_map_end(map, address, &object) == 0 && ended)
		ended(context, &object);
}

static int
unmap(struct object_map *map, const struct object_log_event *event, object_map_ended *ended, void *context)
{
	if (event->size)
		return object_map_cut(map, event->address, event->size, ended, context);
	end_object(map, event->address, ended, context); /* all that shmat() mapped */
	return 0;
}

static int
resize(struct object_map *map, const struct object_log_event *event, object_map_ended *ended, void *context)
{
	int err;

	if (event->address >= UINT64_MAX - event->size)
		return 0; /* no such memory */
	err = object_map_resize(map, event->address, event->size ? event->size : 1, ended, context);
	return err == -ENOENT ? 0 : err;
}

static int
make(struct object_map *map, const struct object_log_event *event, const struct object *made, object_map_ended *ended,
     void *context)
{
	int err = 0;

	if (event->kind == OBJECT_MAPPED) /* MAP_FIXED replaces a part of another mapping */
		err = object_map_cut(map, made->address, made->size, ended, context);
	return err ? err : object_map_add(map, made, ended, context);
}

int
object_event_apply(struct object_map *map, const struct object_log_event *event, const struct object *made,
                   object_map_ended *ended, void *context)
{
	const struct object *there = made ? NULL : object_map_find(map, event->address);

	if (there && there->born > event->time)
		return 0; /* it came late, when another object had begun there already */
	switch (event->kind) {
	case OBJECT_DIED:
		end_object(map, event->address, ended, context);
		return 0;
	case OBJECT_RESIZED:
		return resize(map, event, ended, context);
	case OBJECT_UNMAPPED:
		return unmap(map, event, ended, context);
	default:
		return made ? make(map, event, made, ended, context) : 0;
	}
}
