/* Tests of emulator/clock/delay.h. A cycle is a nanosecond; a busy machine is late, never early. */
#include "tests/unit/test.h"

#include <string.h>

#include "base/clock.h"
#include "emulator/clock/delay.h"

struct delay_fixture {
	struct setup setup;
	struct guest_time time;
	struct run_clock *run_clock;
	struct delay *delay;
};

static int
start(void **state, enum setup_delay kind, double dilation)
{
	static struct delay_fixture fixture;

	fixture.setup = (struct setup){.delay = kind, .dilation = dilation};
	guest_time_init(&fixture.time, 1000, 1);
	fixture.run_clock = run_clock_new("/nonexistent");
	fixture.delay = delay_new(&fixture.setup, &fixture.time, fixture.run_clock);
	*state = &fixture;
	return fixture.delay ? 0 : -1;
}

static int
setup_given(void **state)
{
	return start(state, DELAY_REAL, 3);
}

static int
setup_measured(void **state)
{
	return start(state, DELAY_REAL, 0);
}

static int
setup_none(void **state)
{
	return start(state, DELAY_NONE, 3);
}

static int
teardown(void **state)
{
	struct delay_fixture *fixture = *state;

	delay_free(fixture->delay);
	run_clock_free(fixture->run_clock);
	return 0;
}

static void
the_host_has_come_as_far_as_the_target(void **state)
{
	struct delay_fixture *fixture = *state;
	int64_t origin_ns;
	double dilation;

	assert_true(run_clock_pace(fixture->run_clock, &dilation, &origin_ns));
	for (uint64_t now = 100000; now <= 2000000; now += 100000) {
		delay_settle(fixture->delay, now);
		assert_true((int64_t)monotonic_ns() >= origin_ns + 3 * (int64_t)now - DELAY_LEAST_NS);
	}
}

static void
a_late_thread_owes_nothing(void **state)
{
	struct delay_fixture *fixture = *state;

	delay_spin(1000000, 1);
	assert_int_equal(delay_settle(fixture->delay, 100000), 0); /* 0.3 ms */
}

/* 80 ms too late, the origin is 30 ms later: the next 50 ms are caught up with, no more. */
static void
a_thread_far_behind_moves_the_origin(void **state)
{
	struct delay_fixture *fixture = *state;
	int64_t before_ns, after_ns;
	double dilation;

	run_clock_pace(fixture->run_clock, &dilation, &before_ns);
	delay_spin(80000000, 1);
	delay_settle(fixture->delay, 0);
	run_clock_pace(fixture->run_clock, &dilation, &after_ns);
	assert_true(after_ns - before_ns >= 80000000 - DELAY_LATE_NS);
}

static void
without_a_delay_nothing_is_spent(void **state)
{
	struct delay_fixture *fixture = *state;

	assert_false(delay_is_measuring(fixture->delay));
	assert_int_equal(delay_settle(fixture->delay, UINT64_C(1000000000000)), 0);
}

/* 40 ns of the host for each of execution: first those that are thrown away, then those that count. */
static void
the_slow_down_is_the_emulator_s_own(void **state)
{
	struct delay_fixture *fixture = *state;
	int64_t origin_ns;
	double dilation;

	assert_true(delay_is_measuring(fixture->delay));
	delay_measure(fixture->delay, 1000, DELAY_WARM_NS - 1000, 900000000);
	delay_measure(fixture->delay, 900000, 1000, 40000);
	delay_measure(fixture->delay, 1900000, DELAY_MEASURE_NS / 2, 40 * DELAY_MEASURE_NS / 2);
	assert_true(delay_is_measuring(fixture->delay));
	delay_measure(fixture->delay, 2900000, DELAY_MEASURE_NS / 2, 40 * DELAY_MEASURE_NS / 2);
	assert_false(delay_is_measuring(fixture->delay));
	run_clock_pace(fixture->run_clock, &dilation, &origin_ns);
	assert_true(dilation > 39.9 && dilation < 40.1);
	assert_true((int64_t)monotonic_ns() >= origin_ns + (int64_t)(dilation * 2900000) - 1);
}

static void
a_program_that_mostly_waits_is_measured_by_less(void **state)
{
	struct delay_fixture *fixture = *state;

	delay_measure(fixture->delay, 1000000, DELAY_WARM_NS, 100000);
	delay_measure(fixture->delay, 9000000, DELAY_ENOUGH_NS, 40 * DELAY_ENOUGH_NS);
	assert_true(delay_is_measuring(fixture->delay));
	delay_measure(fixture->delay, 11000000, DELAY_ENOUGH_NS, 40 * DELAY_ENOUGH_NS);
	assert_false(delay_is_measuring(fixture->delay));
}

static void
a_spin_takes_the_time_that_was_asked_for(void **state)
{
	const double ns = delay_spin_calibrate();

	(void)state;
	assert_true(ns > 0);
	for (uint64_t span = 2000; span < 1000000; span *= 3) {
		const uint64_t began = monotonic_ns();

		delay_spin(span, ns);
		assert_true(monotonic_ns() - began >= span);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_host_has_come_as_far_as_the_target, setup_given, teardown),
		cmocka_unit_test_setup_teardown(a_late_thread_owes_nothing, setup_given, teardown),
		cmocka_unit_test_setup_teardown(a_thread_far_behind_moves_the_origin, setup_given, teardown),
		cmocka_unit_test_setup_teardown(without_a_delay_nothing_is_spent, setup_none, teardown),
		cmocka_unit_test_setup_teardown(the_slow_down_is_the_emulator_s_own, setup_measured, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_mostly_waits_is_measured_by_less, setup_measured,
	                                        teardown),
		cmocka_unit_test(a_spin_takes_the_time_that_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
