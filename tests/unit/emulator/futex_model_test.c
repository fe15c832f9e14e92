/* Tests of emulator/clock/futex_model.h. */
#include "tests/unit/test.h"

#include <limits.h>
#include <stdlib.h>

#include "emulator/clock/futex_model.h"

#define LOCK  0x1000
#define OTHER 0x2000

struct futex_fixture {
	struct quantum *quantum;
	struct futex_model *futex_model;
};

static int
setup(void **state)
{
	struct futex_fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->quantum = quantum_new(8, 1000, 2);
	fixture->futex_model = futex_model_new(fixture->quantum, 8);
	for (unsigned i = 0; i < 8; i++)
		quantum_begin(fixture->quantum, i, 0);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct futex_fixture *fixture = *state;

	futex_model_free(fixture->futex_model);
	quantum_free(fixture->quantum);
	free(fixture);
	return 0;
}

static void
begin_wait(struct futex_fixture *fixture, unsigned slot, uint64_t address)
{
	futex_model_wait_begin(fixture->futex_model, slot, address);
	quantum_leave(fixture->quantum, slot);
}

static void
begin_wake(struct futex_fixture *fixture, unsigned slot, uint64_t count, uint64_t now)
{
	const struct futex_wake wake = {.address = LOCK, .count = count};

	futex_model_wake_begin(fixture->futex_model, slot, &wake, now);
}

static void
a_waiter_continues_at_the_time_of_its_waker(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	begin_wake(fixture, 0, 1, 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	begin_wake(fixture, 2, 1, 900); /* a second wake, for which no thread waited */
	futex_model_wake_end(fixture->futex_model, 2, 0);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 500);
}

static void
a_waiter_that_returns_before_its_waker_has_its_time(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	begin_wake(fixture, 0, 1, 500);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
}

static void
the_first_to_wait_is_woken_first(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 3, LOCK);
	begin_wait(fixture, 1, LOCK);
	begin_wake(fixture, 0, 1, 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	begin_wake(fixture, 0, 1, 800);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 800);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 3, true), 500);
}

static void
a_woken_thread_runs_before_it_returns(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	assert_int_equal(quantum_running(fixture->quantum), 7);
	begin_wake(fixture, 0, 1, 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	assert_int_equal(quantum_running(fixture->quantum), 8);
}

static void
one_that_was_mistaken_for_another_sleeps_on(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	begin_wait(fixture, 2, LOCK);
	begin_wake(fixture, 0, 1, 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 2, true), 500); /* the host woke this one */
	quantum_return(fixture->quantum, 2, 500);
	assert_int_equal(quantum_running(fixture->quantum), 7);
	begin_wake(fixture, 0, 1, 900);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 900);
}

static void
all_waiters_are_woken_at_once(void **state)
{
	struct futex_fixture *fixture = *state;

	for (unsigned i = 1; i < 5; i++)
		begin_wait(fixture, i, LOCK);
	begin_wake(fixture, 0, INT_MAX, 700);
	futex_model_wake_end(fixture->futex_model, 0, 4);
	for (unsigned i = 1; i < 5; i++)
		assert_int_equal(futex_model_wait_end(fixture->futex_model, i, true), 700);
}

static void
a_moved_waiter_is_woken_where_it_is(void **state)
{
	struct futex_fixture *fixture = *state;
	const struct futex_wake move = {.address = LOCK, .count = 1, .other = OTHER, .moves = true};
	const struct futex_wake wake = {.address = OTHER, .count = 1};

	begin_wait(fixture, 1, LOCK);
	begin_wait(fixture, 2, LOCK);
	futex_model_wake_begin(fixture->futex_model, 0, &move, 500);
	futex_model_wake_end(fixture->futex_model, 0, 2);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 500);
	futex_model_wake_begin(fixture->futex_model, 1, &wake, 650);
	futex_model_wake_end(fixture->futex_model, 1, 1);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 2, true), 650);
}

static void
one_call_wakes_at_two_addresses(void **state)
{
	struct futex_fixture *fixture = *state;
	const struct futex_wake wake = {.address = LOCK, .count = 1, .other = OTHER};

	begin_wait(fixture, 1, LOCK);
	begin_wait(fixture, 2, OTHER);
	futex_model_wake_begin(fixture->futex_model, 0, &wake, 500);
	futex_model_wake_end(fixture->futex_model, 0, 2);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), 500);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 2, true), 500);
}

static void
a_waiter_that_was_not_woken_takes_no_other_s_turn(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	begin_wait(fixture, 2, LOCK);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, false),
	                 QUANTUM_NONE); /* a signal, or its time was over */
	begin_wake(fixture, 0, 1, 500);
	futex_model_wake_end(fixture->futex_model, 0, 1);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 2, true), 500);
}

static void
a_thread_that_is_woken_from_outside_does_not_know_when(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wait(fixture, 1, LOCK);
	assert_int_equal(futex_model_wait_end(fixture->futex_model, 1, true), QUANTUM_NONE);
}

static void
the_last_wake_at_an_address_is_remembered(void **state)
{
	struct futex_fixture *fixture = *state;

	begin_wake(fixture, 0, 1, 400);
	begin_wake(fixture, 0, 1, 700);
	assert_int_equal(futex_model_last_wake(fixture->futex_model, LOCK), 700);
	assert_int_equal(futex_model_last_wake(fixture->futex_model, OTHER), QUANTUM_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_waiter_continues_at_the_time_of_its_waker, setup, teardown),
		cmocka_unit_test_setup_teardown(a_waiter_that_returns_before_its_waker_has_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_to_wait_is_woken_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_woken_thread_runs_before_it_returns, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_was_mistaken_for_another_sleeps_on, setup, teardown),
		cmocka_unit_test_setup_teardown(all_waiters_are_woken_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_moved_waiter_is_woken_where_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(one_call_wakes_at_two_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(a_waiter_that_was_not_woken_takes_no_other_s_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_wake_at_an_address_is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_is_woken_from_outside_does_not_know_when, setup,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
