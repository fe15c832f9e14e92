/* Tests of emulator/timing/timing.c and thread.c. */
#include "tests/unit/emulator/timing_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static void
a_setup_is_found_as_it_was_written(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct setup *setup_file;

	fixture->setup.seed = 42;
	assert_int_equal(setup_write(&fixture->setup, fixture->directory), 0);
	setup_file = timing_map_setup(fixture->directory);
	assert_non_null(setup_file);
	assert_memory_equal(setup_file, &fixture->setup, sizeof(*setup_file));
	munmap((void *)(uintptr_t)setup_file, sizeof(*setup_file));
}

static void
no_setup_is_an_error(void **state)
{
	struct timing_fixture *fixture = *state;

	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, ENOENT);
}

static void
a_setup_of_another_build_is_refused(void **state)
{
	struct timing_fixture *fixture = *state;
	char path[128];

	fixture->setup.magic++;
	assert_int_equal(setup_write(&fixture->setup, fixture->directory), 0);
	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, EPROTO);
	snprintf(path, sizeof(path), "%s/" SETUP_NAME, fixture->directory);
	assert_int_equal(truncate(path, sizeof(fixture->setup) - 1), 0);
	assert_null(timing_map_setup(fixture->directory));
	assert_int_equal(errno, EPROTO);
}

static void
code_that_is_translated_again_is_the_same(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct code *code = CODE_OF(fixture, "90");

	assert_ptr_equal(timing_add_code(&fixture->timing, code->block), code);
}

/* A library that was unloaded and comes back elsewhere has the same number; what was translated stays what it was. */
static void
code_at_another_address_is_another(void **state)
{
	static const uint8_t bytes[] = {0x90}, sizes[] = {1};
	struct timing_fixture *fixture = *state;
	struct blocks *blocks = fixture->timing.blocks;
	const struct code *here, *there;

	here = timing_add_code(&fixture->timing, blocks_add(blocks, 0x10000, bytes, sizes, 1, 1, 1));
	there = timing_add_code(&fixture->timing, blocks_add(blocks, 0x20000, bytes, sizes, 1, 1, 1));
	assert_int_equal(here->address, 0x10000);
	assert_int_equal(there->address, 0x20000);
	assert_int_equal(here->number, there->number);
	assert_ptr_equal(timing_add_code(&fixture->timing, here->block), here);
}

static void
a_thread_too_many_is_refused(void **state)
{
	struct timing_fixture *fixture = *state;

	assert_int_equal(thread_begin(&fixture->timing, RECORD_VCPUS_MAX), -ENOSPC);
}

/* ---- cores ---- */

#define CALL_SET_AFFINITY 203 /* of the x86-64 that is emulated */
#define LINE_OF(thread)   (UINT64_C(0x100000) + (thread)*UINT64_C(0x10000))

static int
begin_three_cores(void **state, bool prefetch)
{
	struct timing_fixture *fixture = timing_fixture_new("e5-2690v4");

	fixture->setup.threads = 3;
	if (!prefetch)
		fixture->setup.machine.prefetcher_count = 0;
	timing_fixture_begin(fixture, SETUP_EVERYTHING);
	*state = fixture;
	return 0;
}

static int
three_cores(void **state)
{
	return begin_three_cores(state, false);
}

static int
three_cores_that_prefetch(void **state)
{
	return begin_three_cores(state, true);
}

static struct thread *
begin_thread(struct timing_fixture *fixture, unsigned vcpu)
{
	assert_int_equal(thread_begin(&fixture->timing, vcpu), 0);
	return timing_thread(&fixture->timing, vcpu);
}

/* Whether level 1 and its TLB had it; afterwards they do. */
static bool
load_hits(struct thread *thread, uint64_t address)
{
	struct access_result result;

	return filter_use_address(thread->data_filter, false, address) ||
	       !hierarchy_load(thread->hierarchy, address, 1, thread_clock(thread), &result);
}

/* QEMU gives a new thread the number behind the highest one in use; the clock gives it the idlest core. */
static void
a_thread_finds_the_caches_of_its_core(void **state)
{
	struct timing_fixture *fixture = *state;
	struct thread *one = begin_thread(fixture, 1), *two = begin_thread(fixture, 2);

	assert_int_equal(clock_thread_core(fixture->clock, 1), 1);
	assert_int_equal(clock_thread_core(fixture->clock, 2), 2);
	assert_false(load_hits(one, LINE_OF(1)));
	assert_false(load_hits(two, LINE_OF(2)));
	thread_end(one);
	thread_end(two);
	two = begin_thread(fixture, 2);
	assert_int_equal(clock_thread_core(fixture->clock, 2), 1);
	assert_true(load_hits(two, LINE_OF(1)));
	assert_false(load_hits(two, LINE_OF(2)));
	two = begin_thread(fixture, 1);
	assert_int_equal(clock_thread_core(fixture->clock, 1), 2);
	assert_true(load_hits(two, LINE_OF(2)));
}

static void
threads_that_share_a_core_have_caches_each(void **state)
{
	struct timing_fixture *fixture = *state;
	struct thread *last = NULL;

	for (unsigned vcpu = 1; vcpu <= 3; vcpu++)
		last = begin_thread(fixture, vcpu);
	assert_int_equal(clock_thread_core(fixture->clock, 0), clock_thread_core(fixture->clock, 3));
	assert_false(load_hits(fixture->thread, LINE_OF(0)));
	assert_false(load_hits(last, LINE_OF(0)));
}

/* The calling thread's affinity is set to one core. */
static void
pin(struct thread *thread, unsigned core)
{
	const uint8_t mask[8] = {(uint8_t)(1U << core)};
	const struct clock_call call = {.number = CALL_SET_AFFINITY, .arguments = {0, sizeof(mask), (uintptr_t)mask}};

	thread_call_began(thread, &call);
	thread_call_ended(thread, -EINVAL); /* as from a host that has no such core */
}

static void
a_thread_that_is_pinned_elsewhere_has_the_caches_there(void **state)
{
	struct timing_fixture *fixture = *state;
	struct thread *thread = fixture->thread;

	assert_false(load_hits(thread, LINE_OF(0)));
	pin(thread, 2);
	assert_int_equal(thread->core->number, 2);
	assert_false(load_hits(thread, LINE_OF(0)));
	assert_false(load_hits(thread, LINE_OF(2)));
	pin(thread, 0);
	assert_true(load_hits(thread, LINE_OF(0)));
	assert_false(load_hits(thread, LINE_OF(2)));
}

static void
a_thread_s_traffic_is_its_own_on_each_core(void **state)
{
	struct timing_fixture *fixture = *state;
	struct thread *thread = fixture->thread;
	const struct record_counters *counters = &thread->record->counters;

	assert_false(load_hits(thread, LINE_OF(0)));
	pin(thread, 1);
	assert_int_equal(counters->node_bytes[0], 64);
	assert_false(load_hits(thread, LINE_OF(1)));
	pin(thread, 0);
	assert_true(load_hits(thread, LINE_OF(0)));
	timing_publish(&fixture->timing);
	assert_int_equal(counters->node_bytes[0], 128);
}

/* What a core moved counts for the thread that ran on it then, once. */
static void
a_core_s_traffic_is_of_its_thread(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct record_counters *one = &begin_thread(fixture, 1)->record->counters, *two;

	assert_false(load_hits(timing_thread(&fixture->timing, 1), LINE_OF(1)));
	thread_end(timing_thread(&fixture->timing, 1));
	assert_int_equal(one->node_bytes[0] + one->node_bytes[1], 64);
	two = &begin_thread(fixture, 2)->record->counters;
	assert_int_equal(clock_thread_core(fixture->clock, 2), 1);
	assert_false(load_hits(timing_thread(&fixture->timing, 2), LINE_OF(2)));
	thread_end(timing_thread(&fixture->timing, 2));
	timing_publish(&fixture->timing);
	assert_int_equal(one->node_bytes[0] + one->node_bytes[1], 64);
	assert_int_equal(two->node_bytes[0] + two->node_bytes[1], 64);
}

/* A thread begins at its parent's clock, which may be before that of the one that ended on its core. */
static void
a_thread_does_not_wait_for_lines_of_another_time(void **state)
{
	struct timing_fixture *fixture = *state;
	const uint64_t ahead = 1000000;
	struct access_result result;
	struct thread *thread = begin_thread(fixture, 1);
	unsigned used = 0;

	for (uint64_t i = 0; i < 16; i++) /* a stream that ends in the middle of its page */
		(void)hierarchy_load(thread->hierarchy, LINE_OF(1) + i * 64, 1, ahead + i, &result);
	thread_end(thread);
	thread = begin_thread(fixture, 2);
	assert_int_equal(clock_thread_core(fixture->clock, 2), 1);
	assert_true(thread_clock(thread) < ahead);
	for (uint64_t i = 16; i < 32; i++) {
		if (!hierarchy_load(thread->hierarchy, LINE_OF(1) + i * 64, 2, thread_clock(thread), &result))
			continue;
		used += result.used_prefetch;
		assert_true(result.cycles < 10000);
	}
	assert_true(used > 0);
}

/* Who ends publishes for all threads that go on. */
static void
what_is_published_twice_counts_once(void **state)
{
	struct timing_fixture *fixture = *state;
	const struct record_counters *one = &begin_thread(fixture, 1)->record->counters;

	assert_false(load_hits(timing_thread(&fixture->timing, 1), LINE_OF(1)));
	timing_publish(&fixture->timing);
	assert_int_equal(one->node_bytes[0] + one->node_bytes[1], 64);
	timing_publish(&fixture->timing);
	assert_int_equal(one->node_bytes[0] + one->node_bytes[1], 64);
	thread_end(timing_thread(&fixture->timing, 1));
	assert_int_equal(one->node_bytes[0] + one->node_bytes[1], 64);
}

#define TEST_STREAM(name) cmocka_unit_test_setup_teardown(name, three_cores_that_prefetch, timing_teardown)
#define TEST_CORES(name)  cmocka_unit_test_setup_teardown(name, three_cores, timing_teardown)
#define TEST(name)        cmocka_unit_test_setup_teardown(name, timing_in_order, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_setup_is_found_as_it_was_written),
		TEST(no_setup_is_an_error),
		TEST(a_setup_of_another_build_is_refused),
		TEST(code_that_is_translated_again_is_the_same),
		TEST(code_at_another_address_is_another),
		TEST(a_thread_too_many_is_refused),
		TEST_CORES(a_thread_finds_the_caches_of_its_core),
		TEST_CORES(threads_that_share_a_core_have_caches_each),
		TEST_CORES(a_thread_that_is_pinned_elsewhere_has_the_caches_there),
		TEST_CORES(a_thread_s_traffic_is_its_own_on_each_core),
		TEST_CORES(a_core_s_traffic_is_of_its_thread),
		TEST_CORES(what_is_published_twice_counts_once),
		TEST_STREAM(a_thread_does_not_wait_for_lines_of_another_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
