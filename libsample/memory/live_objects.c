#include "memory/live_objects.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "memory/object_event.h"

#define READ_LEAVES 64 /* at once */
#define PLACE_BITS  16
#define PLACES      (1u << PLACE_BITS)

/* An event that waits until all before it are known. */
struct held_event {
	struct object_log_event event;
	uint32_t tid;
	uint32_t order;
	uint64_t died; /* of a beginning: when, and neither is applied; 0: no end has come */
};

struct live_objects {
	struct object_map *map;
	struct held_event *waiting;
	size_t count, room;
	uint32_t places[PLACES]; /* by address: the last beginning there that waits, from 1 on; 0: none */
};

struct live_objects *
live_objects_new(const struct object_leaves *leaves)
{
	struct live_objects *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->map = object_map_new(leaves);
	if (live->map)
		return live;
	free(live);
	return NULL;
}

void
live_objects_free(struct live_objects *live)
{
	if (!live)
		return;
	object_map_free(live->map);
	free(live->waiting);
	free(live);
}

const struct object_map *
live_objects_map(const struct live_objects *live)
{
	return live->map;
}

static uint32_t *
place_of(struct live_objects *live, uint64_t address)
{
	return &live->places[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS)];
}

static int
append(struct live_objects *live, uint32_t tid, const struct object_log_event *event)
{
	struct held_event *added = ARRAY_APPEND(live->waiting, live->count, live->room);

	if (!added)
		return -ENOMEM;
	*added = (struct held_event){.event = *event, .tid = tid, .order = (uint32_t)live->count};
	if (event->kind == OBJECT_BORN)
		*place_of(live, event->address) = (uint32_t)live->count;
	return 0;
}

/* The place of the last beginning at the address that waits, if it is no later than `time`; 0: none. */
static uint32_t
find_beginning(struct live_objects *live, uint64_t address, uint64_t time)
{
	const uint32_t place = *place_of(live, address);
	const struct held_event *found = place ? &live->waiting[place - 1] : NULL;

	return found && found->event.address == address && found->event.time <= time ? place : 0;
}

/*
 * Most objects live so shortly that their beginnings wait when their ends come: those never come into the map. The end
 * of another object at that address, by another thread, may have come first, and was taken for this one's: then that
 * one waits, too. Of mappings parts end: they are not among them.
 */
int
live_objects_event(struct live_objects *live, uint32_t tid, const struct object_log_event *event)
{
	const bool is_end = event->kind == OBJECT_DIED;
	const uint32_t place =
		is_end || event->kind == OBJECT_BORN ? find_beginning(live, event->address, event->time) : 0;
	const uint64_t died = place ? live->waiting[place - 1].died : 0;
	int err = 0;

	if (died > event->time) {
		const struct object_log_event other = {.time = died, .address = event->address, .kind = OBJECT_DIED};

		err = append(live, tid, &other);
		if (err)
			return err;
		live->waiting[place - 1].died = 0;
	}
	if (!is_end || !place || live->waiting[place - 1].died)
		return append(live, tid, event);
	live->waiting[place - 1].died = event->time;
	return 0;
}

static int
compare_times(const void *a, const void *b)
{
	const struct held_event *one = a, *other = b;

	if (one->event.time != other->event.time)
		return one->event.time < other->event.time ? -1 : 1;
	if (object_event_ends(&one->event) != object_event_ends(&other->event))
		return object_event_ends(&one->event) ? -1 : 1;
	return (one->order > other->order) - (one->order < other->order);
}

/* Beginnings whose ends have come. */
static void
leave_out_dead(struct live_objects *live)
{
	size_t kept = 0;

	for (size_t i = 0; i < live->count; i++) {
		if (!live->waiting[i].died)
			live->waiting[kept++] = live->waiting[i];
	}
	live->count = kept;
}

/* After those that wait have moved: by address. They are few, of the last moment. */
static void
number_waiting(struct live_objects *live)
{
	memset(live->places, 0, sizeof(live->places));
	for (size_t i = 0; i < live->count; i++) {
		live->waiting[i].order = (uint32_t)i;
		if (live->waiting[i].event.kind == OBJECT_BORN)
			*place_of(live, live->waiting[i].event.address) = (uint32_t)i + 1;
	}
}

static int
apply(struct live_objects *live, const struct held_event *waiting)
{
	struct object made;
	const bool makes = object_event_makes(&waiting->event);

	if (makes && !object_event_object(&waiting->event, waiting->tid, &made))
		return 0;
	return object_event_apply(live->map, &waiting->event, makes ? &made : NULL, NULL, NULL);
}

size_t
live_objects_advance(struct live_objects *live, uint64_t horizon)
{
	size_t done = 0, lost = 0;

	leave_out_dead(live);
	if (live->count > 1)
		qsort(live->waiting, live->count, sizeof(*live->waiting), compare_times);
	for (; done < live->count && live->waiting[done].event.time <= horizon; done++)
		lost += apply(live, &live->waiting[done]) != 0;
	live->count -= done;
	if (live->count) {
		memmove(live->waiting, live->waiting + done, live->count * sizeof(*live->waiting));
	} else { /* perhaps for long; it was as large as the log */
		free(live->waiting);
		live->waiting = NULL;
		live->room = 0;
	}
	number_waiting(live);
	return lost;
}

/* ---- reading ---- */

static int
visit_leaf(const struct object_leaf *leaf, live_objects_visit *visit, void *context)
{
	int err = leaf->count > OBJECT_LEAF_OBJECTS ? -EPROTO : 0;

	for (uint32_t i = 0; !err && i < leaf->count; i++) {
		const struct object *object = &leaf->objects[i];
		const struct object_log_event event = object_event_of(object);

		if (object->kind > OBJECT_THREAD_LOCAL || !object_event_makes(&event))
			return -EPROTO;
		err = visit(context, object->tid, &event);
	}
	return err;
}

int
live_objects_read(int fd, live_objects_visit *visit, void *context)
{
	struct object_leaf *leaves = malloc(READ_LEAVES * sizeof(*leaves));
	struct {
		uint64_t magic, leaf_bytes; /* as in live_objects_header */
	} header;
	struct stat status;
	ssize_t got = 0;
	int err = leaves ? 0 : -ENOMEM;

	if (!err && (fstat(fd, &status) || (got = pread(fd, &header, sizeof(header), 0)) < 0))
		err = -errno;
	if (!err && status.st_size == 0) {
		free(leaves);
		return 0; /* there was no room for it on the disk */
	}
	if (!err && ((size_t)got < sizeof(header) || header.magic != LIVE_OBJECTS_MAGIC ||
	             header.leaf_bytes != sizeof(*leaves) || !S_ISREG(status.st_mode)))
		err = -EPROTO;
	for (off_t offset = sizeof(struct live_objects_header); !err && offset < status.st_size; offset += got) {
		got = pread(fd, leaves, READ_LEAVES * sizeof(*leaves), offset);
		if (got < 0)
			err = -errno;
		else if (got == 0 || (size_t)got % sizeof(*leaves))
			err = -EPROTO; /* it became shorter */
		for (size_t i = 0; !err && i < (size_t)got / sizeof(*leaves); i++)
			err = visit_leaf(&leaves[i], visit, context);
	}
	free(leaves);
	return err;
}
