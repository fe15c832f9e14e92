/* Tests of emulator/timing/sample.h. Periods below 16 cycles are not randomised: what is sampled can be told. */
#include "emulator/timing/sample.h"
#include "tests/unit/emulator/timing_fixture.h"

#define PERIOD 10
#define ADD    "48 01 c0" /* add %rax,%rax: one a cycle */

static struct timing_fixture *
fixture_with(uint64_t cycles, uint64_t branches)
{
	struct timing_fixture *fixture = timing_fixture_new("in-order-2");

	fixture->setup.periods[SETUP_EVENT_CYCLES] = cycles;
	fixture->setup.periods[SETUP_EVENT_BRANCH] = branches;
	timing_fixture_begin(fixture, SETUP_CLOCK | SETUP_SAMPLES);
	return fixture;
}

static uint32_t
samples_of(const struct timing_fixture *fixture, enum setup_event event, uint32_t instruction)
{
	return fixture->thread->record->samples[event][instruction];
}

static void
each_period_of_cycles_is_a_sample(void **state)
{
	struct timing_fixture *fixture = fixture_with(PERIOD, 0);
	struct code *code = CODE_OF(fixture, ADD, ADD, ADD);

	(void)state;
	for (int i = 0; i < 1000; i++)
		execute(fixture, code);
	assert_in_range(fixture->thread->record->counters.samples[SETUP_EVENT_CYCLES],
	                thread_clock(fixture->thread) / PERIOD - 1, thread_clock(fixture->thread) / PERIOD + 1);
	timing_fixture_free(fixture);
}

/* Three instructions a cycle each: three cycles go through all of ten phases, and each has a third. */
static void
instructions_are_sampled_by_their_time_at_the_head(void **state)
{
	struct timing_fixture *fixture = fixture_with(PERIOD, 0);
	struct code *code = CODE_OF(fixture, ADD, ADD, ADD);

	(void)state;
	for (int i = 0; i < 1000; i++)
		execute(fixture, code);
	for (uint32_t i = 1; i <= 3; i++)
		assert_in_range(samples_of(fixture, SETUP_EVENT_CYCLES, i), 99, 101);
	timing_fixture_free(fixture);
}

static void
who_is_held_up_is_sampled(void **state)
{
	struct timing_fixture *fixture = fixture_with(PERIOD, 0);

	(void)state;
	execute(fixture, CODE_OF(fixture, ADD, ADD));
	stall_add(fixture->thread, 2, 1, REASON_DATA_CACHE, 1000);
	assert_in_range(samples_of(fixture, SETUP_EVENT_CYCLES, 2), 100, 101);
	timing_fixture_free(fixture);
}

static void
time_that_is_nobody_s_is_not_sampled(void **state)
{
	struct timing_fixture *fixture = fixture_with(PERIOD, 0);
	const struct clock_step step = {.limit = THREAD_NEVER, .blocked_cycles = 1000};

	(void)state;
	thread_step(fixture->thread, &step);
	execute(fixture, CODE_OF(fixture, ADD));
	assert_in_range(fixture->thread->record->counters.samples[SETUP_EVENT_CYCLES], 0, 1);
	assert_int_equal(cycles_of(fixture, REASON_BLOCKED), 1000);
	timing_fixture_free(fixture);
}

static void
each_period_of_events_is_a_sample(void **state)
{
	struct timing_fixture *fixture = fixture_with(0, 5);

	(void)state;
	for (int i = 0; i < 100; i++)
		sample_count(fixture->thread, SETUP_EVENT_BRANCH, 7);
	assert_int_equal(samples_of(fixture, SETUP_EVENT_BRANCH, 7), 20);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_BRANCH], 100);
	timing_fixture_free(fixture);
}

static void
what_is_not_sampled_is_counted(void **state)
{
	struct timing_fixture *fixture = fixture_with(0, 0);
	struct code *code = CODE_OF(fixture, ADD);

	(void)state;
	for (int i = 0; i < 100; i++) {
		execute(fixture, code);
		sample_count(fixture->thread, SETUP_EVENT_BRANCH, 7);
	}
	for (int i = 0; i < SETUP_EVENT_COUNT; i++)
		assert_int_equal(fixture->thread->record->counters.samples[i], 0);
	assert_int_equal(fixture->thread->record->counters.events[SETUP_EVENT_BRANCH], 100);
	timing_fixture_free(fixture);
}

/* Their mean is what was asked for, and they are not all the same. */
static void
long_periods_are_randomised(void **state)
{
	struct timing_fixture *fixture = fixture_with(1600, 0);
	struct code *code = CODE_OF(fixture, ADD);
	uint64_t shortest = UINT64_MAX, longest = 0, before = 0;
	unsigned count = 0;

	(void)state;
	for (uint32_t i = 0; i < 1600 * 1000; i++) {
		execute(fixture, code);
		if (fixture->thread->record->counters.samples[SETUP_EVENT_CYCLES] == count)
			continue;
		count++;
		if (before) {
			const uint64_t period = thread_clock(fixture->thread) - before;

			shortest = period < shortest ? period : shortest;
			longest = period > longest ? period : longest;
		}
		before = thread_clock(fixture->thread);
	}
	assert_in_range(count, 990, 1010);
	assert_in_range(shortest, 1549, 1565);
	assert_in_range(longest, 1635, 1651);
	timing_fixture_free(fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_period_of_cycles_is_a_sample),
		cmocka_unit_test(instructions_are_sampled_by_their_time_at_the_head),
		cmocka_unit_test(who_is_held_up_is_sampled),
		cmocka_unit_test(time_that_is_nobody_s_is_not_sampled),
		cmocka_unit_test(each_period_of_events_is_a_sample),
		cmocka_unit_test(what_is_not_sampled_is_counted),
		cmocka_unit_test(long_periods_are_randomised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
