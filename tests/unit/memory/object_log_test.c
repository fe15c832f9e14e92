/* Tests of memory/object_log.h's reader, on files that a test writes as the tracker does. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory/object_log.h"

#define SITES  16
#define CHUNKS 4
#define BYTES                                                                                                          \
	(sizeof(struct object_log_header) + SITES * sizeof(struct object_log_site) +                                   \
	 CHUNKS * sizeof(struct object_log_chunk))
#define NEVER     0
#define SEEN_MAX  1024
#define SOMEWHERE UINT64_C(0x1000)

/* A file, mapped as its process has it, and what a reader visited of it. */
struct object_log_stage {
	int fd;
	struct object_log_header *header;
	struct object_log_site *sites;
	struct object_log_chunk *chunks;
	struct object_log_reader *reader;
	struct object_log_event seen[SEEN_MAX];
	uint32_t tids[SEEN_MAX];
	unsigned count;
	unsigned fails_at; /* 0: never */
};

static int
set_up(void **state)
{
	struct object_log_stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->fd = memfd_create("objects", MFD_CLOEXEC);
	assert_int_equal(ftruncate(stage->fd, BYTES), 0);
	stage->header = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, stage->fd, 0);
	assert_ptr_not_equal(stage->header, MAP_FAILED);
	stage->sites = (struct object_log_site *)(void *)(stage->header + 1);
	stage->chunks = (struct object_log_chunk *)(void *)(stage->sites + SITES);
	*stage->header = (struct object_log_header){
		.magic = OBJECT_LOG_MAGIC,
		.size = BYTES,
		.pid = 77,
		.number = 2,
		.site_max = SITES,
		.chunk_count = CHUNKS,
	};
	stage->reader = object_log_reader_new(stage->fd);
	assert_non_null(stage->reader);
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct object_log_stage *stage = *state;

	object_log_reader_free(stage->reader);
	munmap(stage->header, BYTES);
	close(stage->fd);
	free(stage);
	return 0;
}

/* ---- as the tracker writes ---- */

static struct object_log_chunk *
begin_chunk(struct object_log_stage *stage, unsigned at, uint32_t tid)
{
	assert_int_equal(stage->chunks[at].number, 0);
	stage->chunks[at].number = ++stage->header->taken;
	stage->chunks[at].tid = tid;
	return &stage->chunks[at];
}

static void
write_kind(struct object_log_chunk *chunk, enum object_log_kind kind, uint64_t time, uint64_t address)
{
	assert_true(chunk->written < OBJECT_LOG_EVENTS);
	chunk->events[chunk->written++] = (struct object_log_event){
		.time = time, .address = address, .size = 8, .site = 1, .kind = (uint8_t)kind};
	if (chunk->written > OBJECT_LOG_HELD + chunk->published)
		chunk->published = chunk->written - OBJECT_LOG_HELD;
}

/* Objects of these times, at addresses that follow from them. */
static void
write_born(struct object_log_chunk *chunk, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		write_kind(chunk, OBJECT_BORN, first + i, SOMEWHERE + (first + i) * 16);
}

static void
take_back(struct object_log_chunk *chunk, unsigned at)
{
	chunk->changes += 2;
	chunk->written--;
	memmove(&chunk->events[at], &chunk->events[at + 1], (size_t)(chunk->written - at) * sizeof(chunk->events[0]));
}

/* ---- as a reader sees it ---- */

static int
see(void *context, uint32_t tid, const struct object_log_event *event)
{
	struct object_log_stage *stage = context;

	assert_true(stage->count < SEEN_MAX);
	stage->seen[stage->count] = *event;
	stage->tids[stage->count++] = tid;
	return stage->count == stage->fails_at ? -EINTR : 0;
}

static int
take(struct object_log_stage *stage, uint64_t horizon, bool is_ended)
{
	stage->count = 0;
	return object_log_reader_take(stage->reader, horizon, is_ended, see, stage);
}

static void
assert_seen(const struct object_log_stage *stage, uint64_t first, unsigned count)
{
	assert_int_equal(stage->count, count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(stage->seen[i].time, first + i);
		assert_int_equal(stage->seen[i].kind, OBJECT_BORN);
	}
}

/* ---- tests ---- */

static void
the_header_says_which_clock_it_is(void **state)
{
	struct object_log_stage *stage = *state;

	assert_int_equal(object_log_reader_clock(stage->reader), OBJECT_CLOCK_MONOTONIC);
}

static void
published_events_are_visited_once(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 30);
	assert_int_equal(take(stage, NEVER, false), 0);
	assert_seen(stage, 100, 14);
	assert_int_equal(stage->tids[0], 5);
	assert_int_equal(take(stage, NEVER, false), 0);
	assert_seen(stage, 0, 0);
	write_born(chunk, 130, 3);
	assert_int_equal(take(stage, NEVER, false), 0);
	assert_seen(stage, 114, 3);
}

static void
held_events_are_visited_up_to_the_horizon_and_not_again(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 10);
	assert_int_equal(take(stage, 104, false), 0);
	assert_seen(stage, 100, 5);
	assert_int_equal(take(stage, 104, false), 0);
	assert_seen(stage, 0, 0);
	write_born(chunk, 110, 20); /* the first 14 are published now */
	assert_int_equal(take(stage, NEVER, false), 0);
	assert_seen(stage, 105, 9);
	assert_int_equal(take(stage, 1000, false), 0);
	assert_seen(stage, 114, 16);
}

static void
an_object_that_is_taken_back_after_it_was_visited_has_died(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 4);
	assert_int_equal(take(stage, 102, false), 0);
	assert_seen(stage, 100, 3);
	take_back(chunk, 1); /* was visited */
	take_back(chunk, 2); /* was not */
	write_born(chunk, 110, 1);
	assert_int_equal(take(stage, 1000, false), 0);
	assert_int_equal(stage->count, 2);
	assert_int_equal(stage->seen[0].kind, OBJECT_DIED);
	assert_int_equal(stage->seen[0].address, SOMEWHERE + UINT64_C(101) * 16);
	assert_int_equal(stage->seen[0].time, 102);
	assert_int_equal(stage->seen[1].kind, OBJECT_BORN);
	assert_int_equal(stage->seen[1].time, 110);
	assert_int_equal(take(stage, 1000, true), 0);
	assert_int_equal(stage->count, 0);
}

static void
what_is_held_counts_when_the_process_has_ended(void **state)
{
	struct object_log_stage *stage = *state;

	write_born(begin_chunk(stage, 0, 5), 100, 10);
	assert_int_equal(take(stage, NEVER, true), 0);
	assert_seen(stage, 100, 10);
}

static void
what_is_held_counts_when_the_thread_has_ended_and_its_chunk_is_given_back(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 2, 5);

	stage->header->taken = CHUNKS + 3; /* chunks come in any order by then */
	chunk->number = CHUNKS + 3;
	write_born(chunk, 100, 10);
	chunk->changes = 8;
	chunk->is_closed = 1;
	assert_int_equal(take(stage, NEVER, false), 0);
	assert_seen(stage, 100, 10);
	assert_int_equal(stage->header->given_back, 1);
	assert_int_equal(chunk->number, 0);
	assert_int_equal(chunk->written, 0);
	assert_int_equal(chunk->published, 0);
	assert_int_equal(chunk->is_closed, 0);
	assert_int_equal(chunk->changes, 0);
}

static void
a_thread_that_keeps_its_chunk_is_in_nobodys_way(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *kept = begin_chunk(stage, 0, 5);

	write_born(kept, 1, 1);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned at = 1; at < CHUNKS; at++) {
			struct object_log_chunk *chunk = begin_chunk(stage, at, 6);

			write_born(chunk, 100 * (round + 1) + 10 * at, 10);
			chunk->is_closed = 1;
		}
		assert_int_equal(take(stage, NEVER, false), 0);
		assert_seen(stage, 100 * (round + 1) + 10, 30);
	}
	assert_int_equal(stage->header->given_back, 30);
	assert_int_equal(take(stage, 1, false), 0);
	assert_seen(stage, 1, 1);
}

static void
chunks_of_a_thread_are_read_in_the_order_in_which_it_took_them(void **state)
{
	struct object_log_stage *stage = *state;

	stage->header->taken = CHUNKS; /* so many were taken and given back */
	for (unsigned i = 0; i < CHUNKS; i++) {
		struct object_log_chunk *chunk = begin_chunk(stage, CHUNKS - 1 - i, 5);

		write_born(chunk, 100 + 10 * i, 10);
		chunk->is_closed = i != CHUNKS - 1;
	}
	assert_int_equal(take(stage, 1000, false), 0);
	assert_seen(stage, 100, 40);
}

static void
what_is_held_waits_while_an_event_is_taken_back(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 20);
	chunk->changes = 1;
	assert_int_equal(take(stage, 1000, false), 0);
	assert_seen(stage, 100, 4);
	chunk->changes = 2;
	assert_int_equal(take(stage, 1000, false), 0);
	assert_seen(stage, 104, 16);
}

static void
a_process_that_was_killed_while_it_took_an_event_back_loses_what_was_held(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 20);
	chunk->changes = 1;
	assert_int_equal(take(stage, 1000, true), 0);
	assert_seen(stage, 100, 4);
}

static void
after_an_error_of_a_visit_it_goes_on_behind_it(void **state)
{
	struct object_log_stage *stage = *state;

	write_born(begin_chunk(stage, 0, 5), 100, 20);
	stage->fails_at = 2;
	assert_int_equal(take(stage, 1000, false), -EINTR);
	assert_seen(stage, 100, 2);
	stage->fails_at = 0;
	assert_int_equal(take(stage, 1000, false), 0);
	assert_seen(stage, 102, 18);
}

static void
without_write_access_all_is_read_and_nothing_given_back(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", stage->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	object_log_reader_free(stage->reader);
	stage->reader = object_log_reader_new(fd);
	assert_non_null(stage->reader);
	close(fd);
	write_born(chunk, 100, 20);
	chunk->is_closed = 1;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(take(stage, NEVER, false), 0);
		assert_seen(stage, 100, i == 0 ? 20 : 0);
	}
	assert_int_equal(chunk->number, 1);
	assert_int_equal(stage->header->given_back, 0);
}

static void
frames_are_those_of_the_site_and_bounded(void **state)
{
	struct object_log_stage *stage = *state;
	uint64_t frames[OBJECT_LOG_FRAMES];

	stage->sites[1] = (struct object_log_site){.hash = 1, .count = 2, .frames = {11, 12, 13}};
	stage->sites[2] = (struct object_log_site){.hash = 1, .count = OBJECT_LOG_FRAMES + 1};
	assert_int_equal(object_log_reader_frames(stage->reader, 1, frames, NULL), 2);
	assert_int_equal(frames[0], 11);
	assert_int_equal(frames[1], 12);
	assert_int_equal(object_log_reader_frames(stage->reader, OBJECT_LOG_NO_SITE, frames, NULL), 0);
	assert_int_equal(object_log_reader_frames(stage->reader, 2, frames, NULL), 0);
	assert_int_equal(object_log_reader_frames(stage->reader, 3, frames, NULL), 0);
	assert_int_equal(object_log_reader_frames(stage->reader, SITES, frames, NULL), 0);
	assert_int_equal(object_log_reader_frames(stage->reader, UINT32_MAX, frames, NULL), 0);
}

static void
counts_are_those_of_the_header(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_counts counts;

	stage->header->short_lived = 1;
	stage->header->lost = 2;
	stage->header->unnamed = 3;
	stage->header->checked = 4;
	stage->header->wrong = 5;
	assert_int_equal(object_log_reader_counts(stage->reader, &counts), 0);
	assert_int_equal(counts.short_lived, 1);
	assert_int_equal(counts.lost, 2);
	assert_int_equal(counts.unnamed, 3);
	assert_int_equal(counts.checked, 4);
	assert_int_equal(counts.wrong, 5);
}

/* Half of the time that a counter measured is half of the ns. */
static void
times_of_a_counter_become_ns(void **state)
{
	struct object_log_stage *stage = *state;
	struct timespec now;
	uint64_t began_ns, middle, end, begin = object_log_counter();

	if (!begin)
		skip_because("there is no counter");
	clock_gettime(CLOCK_MONOTONIC, &now);
	began_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	stage->header->clock = OBJECT_CLOCK_COUNTER;
	stage->header->began = begin;
	stage->header->began_ns = began_ns;
	object_log_reader_free(stage->reader);
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	stage->reader = object_log_reader_new(stage->fd);
	assert_non_null(stage->reader);
	end = object_log_counter();
	middle = object_log_reader_time(stage->reader, begin + (end - begin) / 2) - began_ns;
	assert_int_equal(object_log_reader_time(stage->reader, begin), began_ns);
	assert_true(middle >= 4900000 && middle < 1000000000);
	assert_in_range(object_log_reader_time(stage->reader, end) - began_ns, 2 * middle - 10, 2 * middle + 10);
	assert_true(object_log_reader_time(stage->reader, begin - 1000) <= began_ns);
	assert_true(object_log_reader_time(stage->reader, 0) < began_ns);
}

/* Two threads get a lock in turn, as they get memory that the other has given up. */
struct handover {
	atomic_uint lock; /* 0: it is free */
	pthread_t owner;  /* the last one */
	uint64_t given_up;
	unsigned handovers, backwards;
};

#define HANDOVERS 2000000

static void *
hand_over(void *data)
{
	struct handover *handover = data;

	for (unsigned i = 0; i < HANDOVERS; i++) {
		uint64_t got;

		while (atomic_exchange_explicit(&handover->lock, 1, memory_order_acquire))
			while (atomic_load_explicit(&handover->lock, memory_order_relaxed))
				;
		got = object_log_counter_after();
		if (!pthread_equal(handover->owner, pthread_self())) {
			handover->handovers++;
			handover->backwards += got < handover->given_up;
			handover->owner = pthread_self();
		}
		handover->given_up = object_log_counter();
		atomic_store_explicit(&handover->lock, 0, memory_order_release);
	}
	return NULL;
}

/* Of 7.7 million handovers 52,000 went back in time when the counter was read without waiting for what precedes. */
static void
what_a_thread_takes_over_is_later_than_its_end_in_another(void **state)
{
	struct handover handover = {.owner = pthread_self()};
	pthread_t threads[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hand_over, &handover), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_true(handover.handovers > 1);
	assert_int_equal(handover.backwards, 0);
}

static void
a_child_names_its_parents_log(void **state)
{
	struct object_log_stage *stage = *state;
	uint32_t pid = 1, number = 1;
	uint64_t forked = 1;

	assert_false(object_log_reader_parent(stage->reader, &pid, &number, &forked));
	stage->header->parent_pid = 70;
	stage->header->parent_number = 3;
	stage->header->forked = 4711;
	stage->header->clock = OBJECT_CLOCK_MONOTONIC;
	object_log_reader_free(stage->reader);
	stage->reader = object_log_reader_new(stage->fd);
	assert_true(object_log_reader_parent(stage->reader, &pid, &number, &forked));
	assert_int_equal(pid, 70);
	assert_int_equal(number, 3);
	assert_int_equal(forked, 4711);
}

static void
expect_no_reader(struct object_log_stage *stage, int error)
{
	assert_null(object_log_reader_new(stage->fd));
	assert_int_equal(errno, error);
}

static void
a_file_that_is_not_complete_is_tried_again(void **state)
{
	struct object_log_stage *stage = *state;

	stage->header->magic = 0;
	expect_no_reader(stage, EAGAIN);
	assert_int_equal(ftruncate(stage->fd, 0), 0);
	expect_no_reader(stage, EAGAIN);
}

static void
a_header_that_contradicts_itself_is_refused(void **state)
{
	struct object_log_stage *stage = *state;
	const struct object_log_header right = *stage->header;

	stage->header->magic++;
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	stage->header->size++;
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	stage->header->site_max = UINT32_MAX;
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	stage->header->chunk_count = 0;
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	stage->header->clock = 3;
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	stage->header->began_ns = UINT64_MAX - 1000; /* no clock has come so far */
	expect_no_reader(stage, EPROTO);
	*stage->header = right;
	assert_int_equal(ftruncate(stage->fd, BYTES - 1), 0);
	expect_no_reader(stage, EPROTO);
	assert_int_equal(ftruncate(stage->fd, 100), 0);
	expect_no_reader(stage, EPROTO);
}

/* What a chunk says of itself, made wrong in one way at a time. */
static void
a_chunk_that_contradicts_itself_is_refused(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_chunk *chunk = begin_chunk(stage, 0, 5);

	write_born(chunk, 100, 20);
	chunk->published = 21;
	assert_int_equal(take(stage, NEVER, false), -EPROTO);
	chunk->published = 4;
	chunk->written = OBJECT_LOG_EVENTS + 1;
	assert_int_equal(take(stage, NEVER, true), -EPROTO);
	chunk->written = 20;
	chunk->events[0].kind = 200;
	assert_int_equal(take(stage, NEVER, true), -EPROTO);
	assert_int_equal(take(stage, NEVER, true), 0);
	assert_seen(stage, 101, 19);
	chunk->written = 19; /* less than was there */
	assert_int_equal(take(stage, NEVER, true), -EPROTO);
	chunk->written = 20;
	chunk->number = 9;
	stage->header->taken = 9;
	assert_int_equal(take(stage, NEVER, true), -EPROTO);
}

static void
a_file_that_is_truncated_is_an_error_and_no_signal(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_counts counts;
	uint64_t frames[OBJECT_LOG_FRAMES];

	write_born(begin_chunk(stage, 0, 5), 100, 20);
	assert_int_equal(ftruncate(stage->fd, sizeof(struct object_log_header)), 0);
	assert_int_equal(take(stage, NEVER, false), -EPROTO);
	assert_int_equal(object_log_reader_frames(stage->reader, 1, frames, NULL), 0);
	assert_int_equal(ftruncate(stage->fd, 0), 0);
	assert_int_equal(take(stage, NEVER, true), -EPROTO);
	assert_int_equal(object_log_reader_counts(stage->reader, &counts), -EPROTO);
}

/* ---- beside the keeper ---- */

static struct object_log_stage *has_room_of;
static unsigned rooms_asked;

/* The last chunk has no room on the disk. */
static bool
has_room(uint32_t chunk)
{
	rooms_asked++;
	assert_non_null(has_room_of);
	return chunk < CHUNKS - 1;
}

/* The process has a keeper; the stage's reader is one beside it. */
static struct object_log_reader *
begin_keeper(struct object_log_stage *stage)
{
	struct object_log_reader *keeper;

	stage->header->has_keeper = 1;
	object_log_reader_free(stage->reader);
	stage->reader = object_log_reader_new(stage->fd);
	assert_non_null(stage->reader);
	has_room_of = stage;
	keeper = object_log_reader_new_keeper(stage->header, BYTES, has_room);
	assert_non_null(keeper);
	return keeper;
}

static void
close_full(struct object_log_stage *stage, unsigned at, uint64_t first)
{
	struct object_log_chunk *chunk = begin_chunk(stage, at, 5);

	write_born(chunk, first, OBJECT_LOG_EVENTS);
	chunk->is_closed = 1;
}

static int
keep(struct object_log_stage *stage, struct object_log_reader *keeper)
{
	stage->count = 0;
	return object_log_reader_take(keeper, UINT64_MAX, false, see, stage);
}

static void
a_keeper_gives_back_what_nobody_else_reads(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_reader *keeper = begin_keeper(stage);

	assert_true(object_log_reader_has_live(stage->reader));
	close_full(stage, 0, 100);
	assert_int_equal(keep(stage, keeper), 0);
	assert_seen(stage, 100, OBJECT_LOG_EVENTS);
	assert_int_equal(stage->chunks[0].number, 0);
	assert_int_equal(stage->header->given_back, 1);
	assert_true(rooms_asked > 0);
	object_log_reader_free(keeper);
}

static void
a_keeper_waits_for_the_other_reader(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_reader *keeper = begin_keeper(stage);

	assert_int_equal(object_log_reader_claim(stage->reader), 0);
	assert_int_equal(stage->header->beside, OBJECT_LOG_COPIES);
	close_full(stage, 0, 100);
	assert_int_equal(keep(stage, keeper), 0);
	assert_seen(stage, 100, OBJECT_LOG_EVENTS);
	assert_int_not_equal(stage->chunks[0].number, 0);
	assert_int_equal(take(stage, UINT64_MAX, false), 0);
	assert_seen(stage, 100, OBJECT_LOG_EVENTS);
	assert_int_equal(stage->header->beside, OBJECT_LOG_READS);
	assert_int_not_equal(stage->chunks[0].number, 0);
	assert_int_equal(keep(stage, keeper), 0);
	assert_seen(stage, 0, 0);
	assert_int_equal(stage->chunks[0].number, 0);
	close_full(stage, 0, 300);
	assert_int_equal(take(stage, UINT64_MAX, false), 0);
	assert_seen(stage, 300, OBJECT_LOG_EVENTS);
	assert_int_equal(keep(stage, keeper), 0);
	assert_int_equal(stage->header->given_back, 2);
	object_log_reader_free(keeper);
}

static void
a_keeper_waits_no_more_when_the_other_has_gone(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_reader *keeper = begin_keeper(stage);

	assert_int_equal(object_log_reader_claim(stage->reader), 0);
	assert_int_equal(take(stage, UINT64_MAX, false), 0);
	close_full(stage, 0, 100);
	assert_int_equal(keep(stage, keeper), 0);
	assert_int_not_equal(stage->chunks[0].number, 0);
	object_log_reader_free(stage->reader);
	assert_int_equal(stage->header->beside, OBJECT_LOG_NOBODY);
	stage->reader = object_log_reader_new(stage->fd);
	assert_int_equal(keep(stage, keeper), 0);
	assert_int_equal(stage->chunks[0].number, 0);
	object_log_reader_free(keeper);
}

static void
the_next_reader_reads_again_what_one_before_it_has_read(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_reader *keeper = begin_keeper(stage);

	close_full(stage, 0, 100);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(object_log_reader_claim(stage->reader), 0);
		assert_int_equal(stage->chunks[0].is_read, 0);
		assert_int_equal(take(stage, UINT64_MAX, false), 0);
		assert_seen(stage, 100, OBJECT_LOG_EVENTS);
		assert_int_equal(stage->chunks[0].is_read, 1);
		object_log_reader_free(stage->reader);
		stage->reader = object_log_reader_new(stage->fd);
	}
	object_log_reader_free(keeper);
}

static void
a_log_has_one_reader(void **state)
{
	struct object_log_stage *stage = *state;
	char path[64];
	int fd;
	struct object_log_reader *other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", stage->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	other = object_log_reader_new(fd);
	close(fd);
	assert_non_null(other);
	assert_int_equal(object_log_reader_claim(stage->reader), 0);
	assert_int_equal(object_log_reader_claim(other), -EBUSY);
	object_log_reader_free(other);
}

static void
what_lives_is_waited_for_while_it_changes(void **state)
{
	struct object_log_stage *stage = *state;
	struct object_log_reader *keeper = begin_keeper(stage);
	int status;
	pid_t child;

	stage->header->pass = 1;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		usleep(20000);
		_exit(stage->header->beside == OBJECT_LOG_COPIES &&
		                      __atomic_add_fetch(&stage->header->pass, 1, __ATOMIC_SEQ_CST) == 2
		              ? 0
		              : 1);
	}
	assert_int_equal(object_log_reader_claim(stage->reader), 0);
	assert_int_equal(stage->header->pass, 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	object_log_reader_free(keeper);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_header_says_which_clock_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(published_events_are_visited_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(held_events_are_visited_up_to_the_horizon_and_not_again, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(an_object_that_is_taken_back_after_it_was_visited_has_died, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(what_is_held_counts_when_the_process_has_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_held_counts_when_the_thread_has_ended_and_its_chunk_is_given_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_thread_that_keeps_its_chunk_is_in_nobodys_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chunks_of_a_thread_are_read_in_the_order_in_which_it_took_them, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(what_is_held_waits_while_an_event_is_taken_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_process_that_was_killed_while_it_took_an_event_back_loses_what_was_held, set_up, tear_down),
		cmocka_unit_test_setup_teardown(after_an_error_of_a_visit_it_goes_on_behind_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_write_access_all_is_read_and_nothing_given_back, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(frames_are_those_of_the_site_and_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_are_those_of_the_header, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times_of_a_counter_become_ns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_child_names_its_parents_log, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_not_complete_is_tried_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_header_that_contradicts_itself_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_chunk_that_contradicts_itself_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_truncated_is_an_error_and_no_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_keeper_gives_back_what_nobody_else_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_keeper_waits_for_the_other_reader, set_up, tear_down),
		cmocka_unit_test(what_a_thread_takes_over_is_later_than_its_end_in_another),
		cmocka_unit_test_setup_teardown(a_keeper_waits_no_more_when_the_other_has_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_next_reader_reads_again_what_one_before_it_has_read, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_log_has_one_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lives_is_waited_for_while_it_changes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
