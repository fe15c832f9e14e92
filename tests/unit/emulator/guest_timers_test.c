/* Tests of emulator/clock/guest_time.h. A cycle is half a nanosecond. */
#include "tests/unit/test.h"

#include "emulator/clock/guest_time.h"

struct guest_timers_fixture {
	struct guest_timers timers;
	struct guest_time time;
};

static int
setup(void **state)
{
	static struct guest_timers_fixture fixture;

	guest_timers_init(&fixture.timers);
	guest_time_init(&fixture.time, 2000, 1);
	*state = &fixture;
	return 0;
}

static void
set(struct guest_timers_fixture *fixture, enum guest_timer_kind kind, int id, uint64_t expires, uint64_t interval_ns,
    uint64_t host_ns)
{
	const struct guest_timer timer = {kind, id, expires, interval_ns, host_ns};

	guest_timers_set(&fixture->timers, &timer);
}

static uint64_t
signal_at(struct guest_timers_fixture *fixture, uint64_t host_ns)
{
	return guest_timers_signal(&fixture->timers, &fixture->time, host_ns);
}

static void
a_timer_runs_out_once(void **state)
{
	set(*state, TIMER_INTERVAL, 0, 5000, 0, 900);
	assert_int_equal(signal_at(*state, 899), TIMER_NONE); /* the signal is another's */
	assert_int_equal(signal_at(*state, 900), 5000);
	assert_int_equal(signal_at(*state, 10000), TIMER_NONE);
}

static void
one_with_an_interval_runs_on(void **state)
{
	set(*state, TIMER_POSIX, 3, 5000, 100, 900);
	assert_int_equal(signal_at(*state, 950), 5000);
	assert_int_equal(signal_at(*state, 950), TIMER_NONE);
	assert_int_equal(signal_at(*state, 1000), 5200);
}

static void
the_first_of_several_comes_first(void **state)
{
	set(*state, TIMER_POSIX, 1, 7000, 0, 900);
	set(*state, TIMER_POSIX, 2, 6000, 0, 800);
	set(*state, TIMER_DESCRIPTOR, 3, 1000, 0, 100); /* sends none */
	assert_int_equal(signal_at(*state, 1000), 6000);
	assert_int_equal(signal_at(*state, 1000), 7000);
}

static void
a_timer_that_is_set_again_forgets_what_it_was(void **state)
{
	struct guest_timers_fixture *fixture = *state;

	set(fixture, TIMER_POSIX, 1, 5000, 0, 900);
	set(fixture, TIMER_POSIX, 1, 9000, 0, 2000);
	assert_int_equal(signal_at(fixture, 1000), TIMER_NONE);
	guest_timers_clear(&fixture->timers, TIMER_POSIX, 1);
	assert_int_equal(signal_at(fixture, 3000), TIMER_NONE);
	guest_timers_clear(&fixture->timers, TIMER_POSIX, 1);
}

static void
a_descriptor_is_read_when_it_ran_out_last(void **state)
{
	struct guest_timers_fixture *fixture = *state;

	set(fixture, TIMER_DESCRIPTOR, 5, 5000, 100, 900);
	assert_int_equal(guest_timers_read(&fixture->timers, &fixture->time, 4, 2000), TIMER_NONE);
	assert_int_equal(guest_timers_read(&fixture->timers, &fixture->time, 5, 1150), 5400); /* at 900, 1000, 1100 */
}

static void
more_timers_than_there_is_room_for_are_not_known(void **state)
{
	for (int i = 0; i < 2 * GUEST_TIMERS_MAX; i++)
		set(*state, TIMER_POSIX, i, 5000 + (uint64_t)i, 0, 900);
	for (int i = 0; i < GUEST_TIMERS_MAX; i++)
		assert_int_equal(signal_at(*state, 900), 5000 + i);
	assert_int_equal(signal_at(*state, 900), TIMER_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_timer_runs_out_once, setup),
		cmocka_unit_test_setup(one_with_an_interval_runs_on, setup),
		cmocka_unit_test_setup(the_first_of_several_comes_first, setup),
		cmocka_unit_test_setup(a_timer_that_is_set_again_forgets_what_it_was, setup),
		cmocka_unit_test_setup(a_descriptor_is_read_when_it_ran_out_last, setup),
		cmocka_unit_test_setup(more_timers_than_there_is_room_for_are_not_known, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
