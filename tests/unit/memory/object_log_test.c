#include "memory/object_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define CHUNKS 8u
#define SITES  16u
#define ALL    UINT64_MAX

/* What the tracker writes; the file is mapped, as it is there. */
struct log_fixture {
	int fd;
	size_t size;
	struct object_log_header *header;
	uint32_t *states;
	struct object_log_site *sites;
	struct object_log_chunk *chunks;
	struct object_log_reader *reader;
	struct object_log_event seen[64];
	uint32_t tids[64];
	size_t count;
	int result; /* of the visit */
};

static int
setup(void **state)
{
	struct log_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->fd = memfd_create("objects", MFD_CLOEXEC);
	fixture->size = object_log_chunks_at(CHUNKS, SITES) + CHUNKS * sizeof(struct object_log_chunk);
	if (fixture->fd < 0 || ftruncate(fixture->fd, (off_t)fixture->size))
		return -1;
	fixture->header = mmap(NULL, fixture->size, PROT_READ | PROT_WRITE, MAP_SHARED, fixture->fd, 0);
	if (fixture->header == MAP_FAILED)
		return -1;
	fixture->states = (uint32_t *)(void *)(fixture->header + 1);
	fixture->sites = (void *)((char *)fixture->header + object_log_sites_at(CHUNKS));
	fixture->chunks = (void *)((char *)fixture->header + object_log_chunks_at(CHUNKS, SITES));
	*fixture->header = (struct object_log_header){
		.magic = OBJECT_LOG_MAGIC, .size = fixture->size, .pid = 11, .site_max = SITES, .chunk_count = CHUNKS};
	fixture->reader = object_log_reader_new(fixture->fd);
	return fixture->reader ? 0 : -1;
}

static int
teardown(void **state)
{
	struct log_fixture *fixture = *state;

	object_log_reader_free(fixture->reader);
	munmap(fixture->header, fixture->size);
	close(fixture->fd);
	free(fixture);
	return 0;
}

static void
open_chunk(struct log_fixture *fixture, uint32_t slot, uint32_t tid)
{
	fixture->chunks[slot] = (struct object_log_chunk){.number = ++fixture->header->taken, .tid = tid};
	fixture->states[slot] = OBJECT_CHUNK_OPEN;
}

/* The last event is held, unless it is published. */
static void
write_event(struct log_fixture *fixture, uint32_t slot, uint64_t time, uint64_t address)
{
	struct object_log_chunk *chunk = &fixture->chunks[slot];

	chunk->events[chunk->written++] =
		(struct object_log_event){.time = time, .address = address, .size = 16, .site = 1, .kind = OBJECT_BORN};
}

static void
publish(struct log_fixture *fixture, uint32_t slot)
{
	fixture->chunks[slot].published = fixture->chunks[slot].written;
}

static void
take_back(struct log_fixture *fixture, uint32_t slot)
{
	fixture->chunks[slot].written--;
	fixture->chunks[slot].changes += 2;
}

static int
see(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct log_fixture *fixture = context;

	assert_true(fixture->count < 64);
	fixture->seen[fixture->count] = *event;
	fixture->tids[fixture->count++] = tid;
	return fixture->result;
}

/* How many events came. */
static size_t
take(struct log_fixture *fixture, uint64_t horizon, bool is_ended)
{
	const size_t before = fixture->count;

	assert_int_equal(object_log_reader_take(fixture->reader, horizon, is_ended, see, fixture), 0);
	return fixture->count - before;
}

static void
published_events_come_once(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 3, 100);
	write_event(fixture, 3, 10, 0x1000);
	write_event(fixture, 3, 20, 0x2000);
	publish(fixture, 3);
	assert_int_equal(take(fixture, 0, false), 2);
	assert_int_equal(fixture->seen[0].address, 0x1000);
	assert_int_equal(fixture->seen[1].address, 0x2000);
	assert_int_equal(fixture->tids[0], 100);
	assert_int_equal(take(fixture, 0, false), 0);
}

/* A thread makes an object and then waits for others: they use it long before its next event. */
static void
held_events_come_when_nothing_earlier_can(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 100);
	write_event(fixture, 0, 10, 0x1000);
	write_event(fixture, 0, 90, 0x2000);
	assert_int_equal(take(fixture, 50, false), 1);
	assert_int_equal(fixture->seen[0].address, 0x1000);
	publish(fixture, 0);
	assert_int_equal(take(fixture, 50, false), 1);
	assert_int_equal(fixture->seen[1].address, 0x2000);
}

static void
what_came_early_and_is_taken_back_ends(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 100);
	write_event(fixture, 0, 10, 0x1000);
	assert_int_equal(take(fixture, 50, false), 1);
	take_back(fixture, 0);
	assert_int_equal(take(fixture, 60, false), 1);
	assert_int_equal(fixture->seen[1].kind, OBJECT_DIED);
	assert_int_equal(fixture->seen[1].address, 0x1000);
	assert_int_equal(take(fixture, 70, false), 0);
}

static void
held_events_wait_while_the_thread_takes_one_back(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 100);
	write_event(fixture, 0, 10, 0x1000);
	fixture->chunks[0].changes = 1;
	assert_int_equal(take(fixture, 50, false), 0);
	fixture->chunks[0].changes = 2;
	assert_int_equal(take(fixture, 50, false), 1);
}

static void
chunks_come_in_the_order_in_which_they_were_taken(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 5, 100);
	write_event(fixture, 5, 10, 0x1000);
	fixture->states[5] = OBJECT_CHUNK_CLOSED;
	open_chunk(fixture, 2, 100);
	write_event(fixture, 2, 20, 0x2000);
	publish(fixture, 2);
	assert_int_equal(take(fixture, 0, false), 2);
	assert_int_equal(fixture->seen[0].address, 0x1000);
	assert_int_equal(fixture->seen[1].address, 0x2000);
}

/* A thread that waits keeps its chunk; others are freed behind it, and used again. */
static void
closed_chunks_are_freed(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 1);
	for (unsigned i = 0; i < 20; i++) {
		open_chunk(fixture, 1, 2);
		write_event(fixture, 1, i, 0x1000 + i);
		fixture->states[1] = OBJECT_CHUNK_CLOSED;
		assert_int_equal(take(fixture, 0, false), 1);
		assert_int_equal(fixture->states[1], OBJECT_CHUNK_FREE);
		assert_int_equal(fixture->header->freed, i + 1);
	}
	assert_int_equal(fixture->states[0], OBJECT_CHUNK_OPEN);
}

static void
all_that_is_written_counts_when_the_process_has_ended(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 1);
	write_event(fixture, 0, 10, 0x1000);
	assert_int_equal(take(fixture, 0, false), 0);
	assert_int_equal(take(fixture, 0, true), 1);
	assert_int_equal(take(fixture, 0, true), 0);
}

static void
a_call_chain_is_read(void **state)
{
	struct log_fixture *fixture = *state;
	uint64_t frames[OBJECT_LOG_FRAMES];

	fixture->sites[3] = (struct object_log_site){.hash = 1, .count = 2, .frames = {0x400100, 0x400200}};
	assert_int_equal(object_log_reader_frames(fixture->reader, 3, frames, NULL), 2);
	assert_int_equal(frames[1], 0x400200);
	assert_int_equal(object_log_reader_frames(fixture->reader, OBJECT_LOG_NO_SITE, frames, NULL), 0);
	assert_int_equal(object_log_reader_frames(fixture->reader, SITES, frames, NULL), 0);
	fixture->sites[3].count = OBJECT_LOG_FRAMES + 1;
	assert_int_equal(object_log_reader_frames(fixture->reader, 3, frames, NULL), 0);
}

static void
nonsense_is_refused_or_left_out(void **state)
{
	struct log_fixture *fixture = *state;
	const int other = memfd_create("nothing", MFD_CLOEXEC);

	assert_null(object_log_reader_new(other));
	assert_int_equal(errno, EPROTO);
	close(other);
	open_chunk(fixture, 0, 1);
	fixture->chunks[0].written = OBJECT_LOG_EVENTS + 1;
	assert_int_equal(take(fixture, ALL, true), 0);
	fixture->chunks[0].written = 1;
	fixture->chunks[0].published = 2;
	assert_int_equal(take(fixture, ALL, false), 0);
	fixture->states[1] = 77;
	assert_int_equal(take(fixture, ALL, false), 0);
	fixture->header->chunk_count++;
	assert_int_equal(object_log_reader_take(fixture->reader, ALL, false, see, fixture), -EPROTO);
	fixture->header->chunk_count--;
	assert_int_equal(ftruncate(fixture->fd, 5000), 0);
	assert_int_equal(object_log_reader_take(fixture->reader, ALL, false, see, fixture), -EPROTO);
	assert_int_equal(ftruncate(fixture->fd, (off_t)fixture->size), 0);
}

static void
an_error_of_the_visitor_ends_the_walk(void **state)
{
	struct log_fixture *fixture = *state;

	open_chunk(fixture, 0, 1);
	write_event(fixture, 0, 10, 0x1000);
	write_event(fixture, 0, 11, 0x2000);
	publish(fixture, 0);
	fixture->result = -ENOMEM;
	assert_int_equal(object_log_reader_take(fixture->reader, 0, false, see, fixture), -ENOMEM);
	assert_int_equal(fixture->count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(published_events_come_once),
		TEST(held_events_come_when_nothing_earlier_can),
		TEST(what_came_early_and_is_taken_back_ends),
		TEST(held_events_wait_while_the_thread_takes_one_back),
		TEST(chunks_come_in_the_order_in_which_they_were_taken),
		TEST(closed_chunks_are_freed),
		TEST(all_that_is_written_counts_when_the_process_has_ended),
		TEST(a_call_chain_is_read),
		TEST(nonsense_is_refused_or_left_out),
		TEST(an_error_of_the_visitor_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
