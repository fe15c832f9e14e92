/* Tests of emulator/clock/guest_time.h. A cycle is a nanosecond; a guest's clock shows 1000 s at cycle 0. */
#include "tests/unit/test.h"

#include <linux/futex.h>

#include "emulator/clock/guest_time.h"
#include "emulator/clock/quantum.h"

#define NOW UINT64_C(5000)

struct guest_deadline_fixture {
	struct guest_deadlines deadlines;
	struct guest_time time;
};

static int
setup(void **state)
{
	static struct guest_deadline_fixture fixture;

	guest_deadlines_init(&fixture.deadlines);
	guest_time_init(&fixture.time, 1000, 1);
	*state = &fixture;
	return 0;
}

static struct guest_deadline
begin(struct guest_deadline_fixture *fixture, struct guest_deadline *deadline, enum syscall_kind kind,
      const uint64_t arguments[6], double stretch)
{
	struct clock_call call = {0};

	for (unsigned i = 0; i < 6; i++)
		call.arguments[i] = arguments[i];
	guest_deadline_begin(&fixture->deadlines, &fixture->time, kind, &call, NOW, stretch, deadline);
	return *deadline;
}

static int64_t
ns_from_now(clockid_t id, const struct timespec *when)
{
	struct timespec now;

	clock_gettime(id, &now);
	return ((int64_t)when->tv_sec - now.tv_sec) * 1000000000 + when->tv_nsec - now.tv_nsec;
}

static void
a_call_without_a_time_waits_for_ever(void **state)
{
	struct guest_deadline deadline;

	begin(*state, &deadline, CALL_FUTEX, (const uint64_t[6]){0, FUTEX_WAIT}, 1);
	assert_int_equal(deadline.cycles, QUANTUM_NONE);
	begin(*state, &deadline, CALL_POLL, (const uint64_t[6]){0, 0, (uint64_t)-1}, 1);
	assert_int_equal(deadline.cycles, QUANTUM_NONE);
	begin(*state, &deadline, CALL_WAIT4, (const uint64_t[6]){1, 2, 3, 4}, 1);
	assert_int_equal(deadline.cycles, QUANTUM_NONE);
}

static void
milliseconds_are_counted_from_now(void **state)
{
	struct guest_deadline deadline;

	begin(*state, &deadline, CALL_POLL, (const uint64_t[6]){0, 0, 3}, 1);
	assert_int_equal(deadline.cycles, NOW + 3000000);
	begin(*state, &deadline, CALL_EPOLL_WAIT, (const uint64_t[6]){0, 0, 0, 2}, 1);
	assert_int_equal(deadline.cycles, NOW + 2000000);
}

static void
a_span_is_counted_from_now_and_stays_what_it_is(void **state)
{
	struct timespec span = {.tv_sec = 1, .tv_nsec = 7};
	struct guest_deadline deadline;

	begin(*state, &deadline, CALL_PSELECT, (const uint64_t[6]){0, 0, 0, 0, (uintptr_t)&span}, 10);
	assert_int_equal(deadline.cycles, NOW + 1000000007);
	assert_int_equal(span.tv_sec, 1);
	begin(*state, &deadline, CALL_SELECT, (const uint64_t[6]){0, 0, 0, 0, (uintptr_t)&span}, 10);
	assert_int_equal(deadline.cycles, NOW + 1000007000); /* microseconds */
	begin(*state, &deadline, CALL_NANOSLEEP, (const uint64_t[6]){(uintptr_t)&span}, 1);
	assert_int_equal(deadline.cycles, NOW + 1000000007);
	assert_int_equal(span.tv_nsec, 7);
}

/* The guest's clock shows 1000.000005 s; it waits until 1060 s. */
static void
a_time_of_the_guest_s_clock_is_the_host_s_meanwhile(void **state)
{
	struct guest_deadline_fixture *fixture = *state;
	struct timespec until = {.tv_sec = 1060};
	struct guest_deadline deadline;

	begin(fixture, &deadline, CALL_CLOCK_NANOSLEEP,
	      (const uint64_t[6]){CLOCK_MONOTONIC, TIMER_ABSTIME, (uintptr_t)&until}, 1);
	assert_int_equal(deadline.cycles, UINT64_C(60000000000));
	assert_in_range(ns_from_now(CLOCK_MONOTONIC, &until), INT64_C(1000000000), INT64_C(60000000000));
	guest_deadline_end(&fixture->deadlines, &deadline);
	assert_int_equal(until.tv_sec, 1060);
	assert_int_equal(until.tv_nsec, 0);
}

static void
a_time_that_is_over_is_now(void **state)
{
	struct guest_deadline_fixture *fixture = *state;
	struct timespec until = {.tv_sec = 3};
	struct guest_deadline deadline;

	begin(fixture, &deadline, CALL_FUTEX, (const uint64_t[6]){0, FUTEX_WAIT_BITSET, 0, (uintptr_t)&until}, 1);
	assert_int_equal(deadline.cycles, NOW);
	assert_true(ns_from_now(CLOCK_MONOTONIC, &until) <= 0);
	guest_deadline_end(&fixture->deadlines, &deadline);
	assert_int_equal(until.tv_sec, 3);
}

static void
the_host_waits_longer_for_threads_that_are_slow_but_not_much(void **state)
{
	struct guest_deadline_fixture *fixture = *state;
	struct timespec span = {.tv_nsec = 10000000};
	struct guest_deadline deadline;

	begin(fixture, &deadline, CALL_FUTEX, (const uint64_t[6]){0, FUTEX_WAIT, 0, (uintptr_t)&span}, 20);
	assert_int_equal(deadline.cycles, NOW + 10000000);
	assert_int_equal(span.tv_nsec, 200000000);
	guest_deadline_end(&fixture->deadlines, &deadline);
	assert_int_equal(span.tv_nsec, 10000000);
	span.tv_sec = 5;
	begin(fixture, &deadline, CALL_FUTEX, (const uint64_t[6]){0, FUTEX_WAIT, 0, (uintptr_t)&span}, 20);
	assert_int_equal(span.tv_sec, 6);
	guest_deadline_end(&fixture->deadlines, &deadline);
	assert_int_equal(span.tv_sec, 5);
}

/* Both have read it when the first returns. */
static void
two_threads_wait_by_the_same_words(void **state)
{
	struct guest_deadline_fixture *fixture = *state;
	struct timespec until = {.tv_sec = 1060};
	const uint64_t arguments[6] = {0, FUTEX_WAIT_BITSET, 0, (uintptr_t)&until};
	struct guest_deadline first, second;

	begin(fixture, &first, CALL_FUTEX, arguments, 1);
	begin(fixture, &second, CALL_FUTEX, arguments, 1);
	assert_int_equal(second.cycles, UINT64_C(60000000000));
	guest_deadline_end(&fixture->deadlines, &first);
	assert_int_not_equal(until.tv_nsec, 0);
	guest_deadline_end(&fixture->deadlines, &second);
	assert_int_equal(until.tv_sec, 1060);
	assert_int_equal(until.tv_nsec, 0);
}

static void
a_time_that_cannot_be_read_or_written_is_left_to_the_kernel(void **state)
{
	static const struct timespec constant = {.tv_sec = 1060};
	struct guest_deadline_fixture *fixture = *state;
	struct guest_deadline deadline;

	begin(fixture, &deadline, CALL_NANOSLEEP, (const uint64_t[6]){16}, 1);
	assert_int_equal(deadline.cycles, QUANTUM_NONE);
	begin(fixture, &deadline, CALL_CLOCK_NANOSLEEP,
	      (const uint64_t[6]){CLOCK_MONOTONIC, TIMER_ABSTIME, (uintptr_t)&constant}, 1);
	assert_int_equal(deadline.cycles, UINT64_C(60000000000));
	assert_int_equal(constant.tv_sec, 1060);
	guest_deadline_end(&fixture->deadlines, &deadline);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_call_without_a_time_waits_for_ever, setup),
		cmocka_unit_test_setup(milliseconds_are_counted_from_now, setup),
		cmocka_unit_test_setup(a_span_is_counted_from_now_and_stays_what_it_is, setup),
		cmocka_unit_test_setup(a_time_of_the_guest_s_clock_is_the_host_s_meanwhile, setup),
		cmocka_unit_test_setup(a_time_that_is_over_is_now, setup),
		cmocka_unit_test_setup(the_host_waits_longer_for_threads_that_are_slow_but_not_much, setup),
		cmocka_unit_test_setup(two_threads_wait_by_the_same_words, setup),
		cmocka_unit_test_setup(a_time_that_cannot_be_read_or_written_is_left_to_the_kernel, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
