/* Tests of memory/live_objects.h: beside an array that is slow and obvious, and with files that are damaged. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/live_objects.h"

#define SLOTS  512 /* addresses */
#define STEP   64
#define EVENTS 60000
#define ROUND  700 /* events between two advances */
#define AHEAD  40  /* by which threads are apart */
#define LEAVES 40

struct living_slot {
	uint64_t born, size; /* size 0: nobody lives there */
	uint32_t site;
};

/* Leaves of an array, as the file of a process has them. */
struct live_file {
	struct live_objects_header header;
	struct object_leaf leaves[LEAVES];
};

struct live_stage {
	struct live_objects *live;
	struct live_file *file;
	unsigned used; /* leaves */
	bool is_full;
	struct living_slot slots[SLOTS];
	unsigned seen, wrong;
	int fd;
};

static struct object_leaf *
take_leaf(void *context)
{
	struct live_stage *stage = context;

	for (unsigned i = 0; i < LEAVES && !stage->is_full; i++) {
		if (stage->file->leaves[i].reserved)
			continue;
		stage->file->leaves[i].reserved = 1;
		stage->used++;
		return &stage->file->leaves[i];
	}
	return NULL;
}

static void
give_leaf(void *context, struct object_leaf *leaf)
{
	struct live_stage *stage = context;

	assert_int_equal(leaf->count, 0);
	leaf->reserved = 0;
	stage->used--;
}

static int
set_up(void **state)
{
	struct live_stage *stage = calloc(1, sizeof(*stage));
	const struct object_leaves leaves = {take_leaf, give_leaf, stage};

	assert_non_null(stage);
	stage->fd = memfd_create("live", MFD_CLOEXEC);
	assert_int_equal(ftruncate(stage->fd, sizeof(*stage->file)), 0);
	stage->file = mmap(NULL, sizeof(*stage->file), PROT_READ | PROT_WRITE, MAP_SHARED, stage->fd, 0);
	assert_ptr_not_equal(stage->file, MAP_FAILED);
	stage->file->header = (struct live_objects_header){LIVE_OBJECTS_MAGIC, sizeof(struct object_leaf), {0}};
	stage->live = live_objects_new(&leaves);
	assert_non_null(stage->live);
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct live_stage *stage = *state;

	live_objects_free(stage->live);
	assert_int_equal(stage->used, 0);
	munmap(stage->file, sizeof(*stage->file));
	close(stage->fd);
	free(stage);
	return 0;
}

static struct object_log_event
event_of(enum object_log_kind kind, uint64_t time, unsigned slot, uint64_t size)
{
	return (struct object_log_event){.time = time,
	                                 .address = (uint64_t)(slot + 1) * STEP,
	                                 .size = size,
	                                 .site = slot % 7 + 1,
	                                 .cpu = (uint16_t)(slot % 5),
	                                 .kind = (uint8_t)kind};
}

static int
add(struct live_stage *stage, struct object_log_event event)
{
	return live_objects_event(stage->live, 9, &event);
}

static void
advance(struct live_stage *stage, uint64_t horizon)
{
	assert_int_equal(live_objects_advance(stage->live, horizon), 0);
}

static int
see_slot(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct live_stage *stage = context;
	const unsigned at = (unsigned)(event->address / STEP) - 1;

	stage->seen++;
	stage->wrong += tid != 9 || at >= SLOTS || stage->slots[at].size != event->size ||
	                stage->slots[at].born != event->time || event->kind != OBJECT_BORN ||
	                event->site != at % 7 + 1 || event->cpu != at % 5;
	return 0;
}

static void
assert_lives(struct live_stage *stage)
{
	unsigned living = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		living += stage->slots[i].size > 0;
	stage->seen = stage->wrong = 0;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), 0);
	assert_int_equal(stage->wrong, 0);
	assert_int_equal(stage->seen, living);
	assert_int_equal(object_map_count(live_objects_map(stage->live)), living);
}

/* What happens next, at `time`; the slots say what lives then. */
static struct object_log_event
next_event(struct live_stage *stage, uint64_t time)
{
	const unsigned at = (unsigned)rand() % SLOTS;
	struct living_slot *slot = &stage->slots[at];

	if (!slot->size)
		*slot = (struct living_slot){time, (uint64_t)rand() % STEP + 1, 0};
	else if (rand() % 4)
		slot->size = 0;
	else
		slot->size = (uint64_t)rand() % STEP + 1;
	return event_of(!slot->size          ? OBJECT_DIED
	                : slot->born == time ? OBJECT_BORN
	                                     : OBJECT_RESIZED,
	                time, at, slot->size);
}

/* Threads deliver their events in any order; they are of one address at times. */
static void
what_lives_is_what_events_in_any_order_leave(void **state)
{
	struct live_stage *stage = *state;
	static struct object_log_event events[EVENTS];

	srand(4);
	for (unsigned i = 0; i < EVENTS; i++)
		events[i] = next_event(stage, 1000 + i);
	for (unsigned begin = 0; begin < EVENTS; begin += ROUND) {
		const unsigned end = begin + ROUND < EVENTS ? begin + ROUND : EVENTS;

		for (unsigned i = begin; i + 1 < end; i++) { /* some change their places */
			const unsigned other = i + (unsigned)rand() % AHEAD;
			struct object_log_event kept = events[i];

			if (other >= end)
				continue;
			events[i] = events[other];
			events[other] = kept;
		}
		for (unsigned i = begin; i < end; i++)
			assert_int_equal(add(stage, events[i]), 0);
		advance(stage, 1000 + end - 1);
	}
	assert_lives(stage);
}

static void
events_behind_the_horizon_wait(void **state)
{
	struct live_stage *stage = *state;

	assert_int_equal(add(stage, event_of(OBJECT_BORN, 100, 1, 10)), 0);
	assert_int_equal(add(stage, event_of(OBJECT_BORN, 200, 2, 10)), 0);
	advance(stage, 150);
	stage->slots[1] = (struct living_slot){100, 10, 0};
	assert_lives(stage);
	assert_int_equal(add(stage, event_of(OBJECT_DIED, 300, 2, 0)), 0);
	assert_int_equal(add(stage, event_of(OBJECT_DIED, 300, 1, 0)), 0);
	advance(stage, 250);
	assert_lives(stage);
	advance(stage, 300);
	stage->slots[1].size = 0;
	assert_lives(stage);
}

static void
an_end_before_the_beginning_is_another_ones(void **state)
{
	struct live_stage *stage = *state;

	assert_int_equal(add(stage, event_of(OBJECT_BORN, 200, 1, 10)), 0);
	assert_int_equal(add(stage, event_of(OBJECT_DIED, 100, 1, 0)), 0);
	advance(stage, 1000);
	stage->slots[1] = (struct living_slot){200, 10, 0};
	assert_lives(stage);
}

static void
a_part_of_a_mapping_ends(void **state)
{
	struct live_stage *stage = *state;
	const struct object *object;

	assert_int_equal(
		add(stage, (struct object_log_event){.time = 1, .address = 4096, .size = 8192, .kind = OBJECT_MAPPED}),
		0);
	assert_int_equal(
		add(stage,
	            (struct object_log_event){.time = 2, .address = 4096, .size = 4096, .kind = OBJECT_UNMAPPED}),
		0);
	advance(stage, 10);
	assert_null(object_map_find(live_objects_map(stage->live), 4096));
	object = object_map_find(live_objects_map(stage->live), 8192);
	assert_non_null(object);
	assert_int_equal(object->kind, OBJECT_MAPPED);
}

static void
what_has_no_room_is_counted(void **state)
{
	struct live_stage *stage = *state;

	stage->is_full = true;
	assert_int_equal(add(stage, event_of(OBJECT_BORN, 100, 1, 10)), 0);
	assert_int_equal(add(stage, event_of(OBJECT_BORN, 100, 2, 10)), 0);
	assert_int_equal(live_objects_advance(stage->live, 1000), 2);
	assert_lives(stage);
	stage->is_full = false;
	assert_int_equal(add(stage, event_of(OBJECT_BORN, 1100, 1, 10)), 0);
	advance(stage, 2000);
	stage->slots[1] = (struct living_slot){1100, 10, 0};
	assert_lives(stage);
}

/* ---- files ---- */

static int
refuse(void *context, uint32_t tid, const struct object_log_event *event)
{
	(void)context;
	(void)tid;
	(void)event;
	return -EINTR;
}

static void
a_damaged_file_is_refused(void **state)
{
	struct live_stage *stage = *state;
	struct live_objects_header *header = &stage->file->header;

	assert_int_equal(add(stage, event_of(OBJECT_BORN, 100, 1, 10)), 0);
	advance(stage, 1000);
	assert_int_equal(live_objects_read(stage->fd, refuse, NULL), -EINTR);
	stage->file->leaves[0].objects[0].kind = OBJECT_DIED;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), -EPROTO);
	stage->file->leaves[0].objects[0].kind = 1000;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), -EPROTO);
	stage->file->leaves[0].objects[0].kind = OBJECT_BORN;
	stage->file->leaves[1].count = OBJECT_LEAF_OBJECTS + 1;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), -EPROTO);
	stage->file->leaves[1].count = 0;
	header->leaf_bytes = 5128;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), -EPROTO);
	header->leaf_bytes = sizeof(struct object_leaf);
	header->magic++;
	assert_int_equal(live_objects_read(stage->fd, see_slot, stage), -EPROTO);
	header->magic--;
	assert_int_equal(live_objects_read(stage->fd, refuse, NULL), -EINTR);
	assert_int_equal(live_objects_read(-1, see_slot, stage), -EBADF);
}

static void
a_file_that_ends_within_a_leaf_is_damaged(void **state)
{
	struct live_stage *stage = *state;
	const int fd = memfd_create("short", MFD_CLOEXEC);

	assert_int_equal(write(fd, stage->file, sizeof(stage->file->header) + 100), sizeof(stage->file->header) + 100);
	assert_int_equal(live_objects_read(fd, see_slot, stage), -EPROTO);
	assert_int_equal(ftruncate(fd, sizeof(stage->file->header)), 0);
	assert_int_equal(live_objects_read(fd, see_slot, stage), 0);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(live_objects_read(fd, see_slot, stage), -EPROTO);
	assert_int_equal(ftruncate(fd, 0), 0); /* there was no room for it */
	assert_int_equal(live_objects_read(fd, see_slot, stage), 0);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_lives_is_what_events_in_any_order_leave),
		CASE(events_behind_the_horizon_wait),
		CASE(an_end_before_the_beginning_is_another_ones),
		CASE(a_part_of_a_mapping_ends),
		CASE(what_has_no_room_is_counted),
		CASE(a_damaged_file_is_refused),
		CASE(a_file_that_ends_within_a_leaf_is_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
