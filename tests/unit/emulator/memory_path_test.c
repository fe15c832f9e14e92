/* Tests of emulator/model/memory_path.h. */
#include "tests/unit/test.h"

#include <math.h>
#include <pthread.h>

#include "emulator/model/memory_path.h"

#define CORES   18
#define QUANTUM 100000

static struct memory_path path;
static struct memory_path_user users[CORES];
static struct load_curve curve;

/* 1 GHz and lines of 64 bytes: 12.8 GB/s are a line each 5 cycles. */
static const struct machine machine = {
	.clock_mhz = 1000,
	.line_bytes = 64,
	.cores = CORES,
	.load_count = 4,
	.loads = {{0, 100}, {6.4, 110}, {9.6, 130}, {12.8, 200}},
};

static int
setup(void **state)
{
	(void)state;
	load_curve_init(&curve, &machine);
	for (unsigned i = 0; i < CORES; i++)
		memory_path_user_init(&users[i], &path, i);
	return memory_path_init(&path, curve.lines_per_cycle, CORES, QUANTUM);
}

static int
teardown(void **state)
{
	(void)state;
	memory_path_fini(&path);
	return 0;
}

static void
the_curve_is_straight_between_its_points(void **state)
{
	(void)state;
	assert_int_equal(curve.least_cycles, 100);
	assert_int_equal(curve.more_cycles[0], 0);
	assert_int_equal(curve.more_cycles[MEMORY_PATH_LOADS / 4], 5);
	assert_int_equal(curve.more_cycles[MEMORY_PATH_LOADS / 2], 10);
	assert_int_equal(curve.more_cycles[MEMORY_PATH_LOADS * 3 / 4], 30);
	assert_int_equal(curve.more_cycles[MEMORY_PATH_LOADS * 7 / 8], 65);
	assert_int_equal(curve.more_cycles[MEMORY_PATH_LOADS], 100);
	assert_true(fabs(curve.lines_per_cycle - 0.2) < 1e-9);
}

/* One line at a time, each when the one before has come: nothing is in its way. */
static void
who_waits_for_each_line_finds_room(void **state)
{
	(void)state;
	for (uint64_t now = 0; now < 100000; now += 100)
		assert_int_equal(memory_path_transfer(&users[0], now), 0);
}

/* Cycles until `count` lines have moved, asked for by cores in turn as soon as each may: ten in flight each. */
static uint64_t
move_lines(unsigned cores, uint64_t count)
{
	uint64_t ready[CORES][10] = {{0}}, now[CORES] = {0}, last = 0;
	unsigned counts[CORES] = {0};

	for (uint64_t i = 0; i < count; i++) {
		unsigned core = 0, slot;
		uint64_t wait;

		for (unsigned j = 1; j < cores; j++)
			core = now[j] < now[core] ? j : core;
		slot = counts[core]++ % 10;
		now[core] = now[core] > ready[core][slot] ? now[core] : ready[core][slot];
		wait = memory_path_transfer(&users[core], now[core]);
		memory_path_count(&users[core], now[core], &curve);
		wait = wait > users[core].load_cycles ? wait : users[core].load_cycles;
		ready[core][slot] = now[core] + 100 + wait;
		last = ready[core][slot] > last ? ready[core][slot] : last;
		now[core]++;
	}
	return last;
}

/* What is beyond the limit waits: 100,000 lines at 5 cycles are 500,000. */
static void
no_more_than_the_limit_is_moved(void **state)
{
	uint64_t cycles = move_lines(CORES, 100000);

	(void)state;
	assert_in_range(cycles, 495000, 505000);
}

/* Windows of a limit that is no whole number of lines; 7.3 GB/s are 8.767 cycles. */
static void
a_limit_need_not_be_a_whole_number(void **state)
{
	uint64_t cycles;

	(void)state;
	memory_path_fini(&path);
	assert_int_equal(memory_path_init(&path, 7.3 / 64, CORES, QUANTUM), 0);
	cycles = move_lines(4, 50000);
	assert_in_range(cycles, 434000, 443000);
}

/* Threads go through the same time after each other, a quantum at a time, as the plugin lets them. */
static void
the_limit_holds_for_clocks_that_differ(void **state)
{
	uint64_t now[4] = {0}, moved = 0;

	(void)state;
	for (uint64_t end = QUANTUM; end <= 20 * QUANTUM; end += QUANTUM) {
		for (unsigned core = 0; core < 4; core++) {
			for (; now[core] < end; moved++)
				now[core] += 10 + memory_path_transfer(&users[core], now[core]);
		}
	}
	/* Asked for: four lines each 10 cycles, twice the limit. What a core got late it has beyond the end. */
	assert_in_range(moved, 20 * QUANTUM / 5 - 1000, 20 * QUANTUM / 5 + QUANTUM / 5);
}

/* A thread that is far behind does not wait for what others do later. */
static void
who_is_behind_finds_room_where_there_was_some(void **state)
{
	(void)state;
	for (uint64_t now = QUANTUM; now < 2 * QUANTUM; now += 5)
		memory_path_transfer(&users[0], now);
	for (uint64_t now = 0; now < QUANTUM / 2; now += 100)
		assert_int_equal(memory_path_transfer(&users[1], now), 0);
}

/* Ten in flight at B bytes a cycle, each taking the latency of that load: 640 / latency. */
static void
latency_follows_the_load_of_all_cores(void **state)
{
	double bandwidth, latency;
	uint64_t cycles;

	(void)state;
	cycles = move_lines(1, 40000);
	bandwidth = 40000 * 64.0 / (double)cycles;
	latency = 640 / bandwidth;
	/* 5.87 bytes a cycle take 109 cycles: on the curve between 0 and 6.4. */
	assert_true(fabs(bandwidth - 5.86) < 0.15);
	assert_true(fabs(latency - (100 + 10 * bandwidth / 6.4)) < 3);
}

/* A core asks at half the limit and stops; one that comes much later sees nothing of it. */
static void
who_was_not_heard_of_for_long_is_no_load(void **state)
{
	(void)state;
	for (uint64_t now = 10; now < 500000; now += 10)
		memory_path_count(&users[0], now, &curve);
	for (uint64_t now = 400000; now < 500000; now += 1000)
		memory_path_count(&users[1], now, &curve);
	assert_in_range(users[1].load_cycles, 9, 11);
	for (uint64_t now = 1000000; now < 1100000; now += 1000)
		memory_path_count(&users[1], now, &curve);
	assert_int_equal(users[1].load_cycles, 0);
}

static void
without_a_limit_nothing_waits(void **state)
{
	(void)state;
	memory_path_fini(&path);
	assert_int_equal(memory_path_init(&path, 0, CORES, QUANTUM), 0);
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(memory_path_transfer(&users[0], 0), 0);
}

/* Who is alone waits as long where threads could come, also where its times go back and forth. */
static void
sharing_with_nobody_changes_no_wait(void **state)
{
	struct memory_path_user *other = &users[1];
	struct memory_path shared;
	uint64_t random = 1, now = 0;

	(void)state;
	assert_int_equal(memory_path_init(&shared, curve.lines_per_cycle, CORES, QUANTUM), 0);
	shared.is_shared = true;
	memory_path_user_init(other, &shared, 0);
	for (unsigned i = 0; i < 100000; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		now += random >> 60; /* 7.5 in the mean; a line takes 5 */
		if (random >> 32 & 1)
			now += random >> 61;
		else
			now -= now > 200 ? random >> 57 : 0;
		assert_int_equal(memory_path_transfer(&users[0], now), memory_path_transfer(other, now));
	}
	memory_path_fini(&shared);
}

#define TURNS 20000

static void *
move_many(void *context)
{
	struct memory_path_user *user = context;

	for (uint64_t i = 0; i < TURNS; i++)
		memory_path_transfer(user, i * 8);
	return NULL;
}

/* Two threads of the host ask for twice 12.5 lines in 100 cycles, and 20 have room: each window has all its lines. */
static void
threads_lose_no_line(void **state)
{
	pthread_t threads[2];
	uint64_t lines = 0;

	(void)state;
	path.is_shared = true;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, move_many, &users[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t i = 0; i <= path.window_mask; i++)
		lines += path.windows[i] & ((1 << MEMORY_PATH_LINES_BITS) - 1);
	assert_int_equal(lines, 2 * TURNS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_curve_is_straight_between_its_points),
		TEST(who_waits_for_each_line_finds_room),
		TEST(no_more_than_the_limit_is_moved),
		TEST(a_limit_need_not_be_a_whole_number),
		TEST(the_limit_holds_for_clocks_that_differ),
		TEST(who_is_behind_finds_room_where_there_was_some),
		TEST(latency_follows_the_load_of_all_cores),
		TEST(who_was_not_heard_of_for_long_is_no_load),
		TEST(without_a_limit_nothing_waits),
		TEST(sharing_with_nobody_changes_no_wait),
		TEST(threads_lose_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
