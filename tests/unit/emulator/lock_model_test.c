/* Tests of emulator/clock/lock_model.h: only a thread that comes while the lock is held in virtual time waits. */
#include "tests/unit/test.h"

#include <errno.h>

#include "emulator/clock/lock_model.h"

#define LOCK 0x4000

static int
make(void **state)
{
	*state = lock_model_new();
	return *state ? 0 : -ENOMEM;
}

static int
end(void **state)
{
	lock_model_free(*state);
	return 0;
}

/* Thread `slot` takes it at `now` and holds it for so long; when it had it. */
static uint64_t
hold(struct lock_model *model, unsigned slot, uint64_t now, uint64_t cycles)
{
	const uint64_t taken = lock_model_access(model, slot, LOCK, now, false);

	assert_int_equal(lock_model_access(model, slot, LOCK, taken + cycles, true), taken + cycles);
	return taken;
}

static void
a_thread_that_comes_in_the_middle_waits_for_the_release(void **state)
{
	assert_int_equal(hold(*state, 0, 1000, 500), 1000);
	assert_int_equal(hold(*state, 1, 1200, 500), 1500);
	assert_int_equal(hold(*state, 2, 1000, 500), 2000);
}

static void
a_thread_that_comes_before_or_after_does_not_wait(void **state)
{
	hold(*state, 0, 1000, 500);
	assert_int_equal(hold(*state, 1, 1500, 10), 1500);
	assert_int_equal(hold(*state, 1, 400, 10), 400);
}

static void
the_thread_that_held_it_goes_on_as_it_likes(void **state)
{
	for (uint64_t now = 1000; now < 100000; now += 600)
		assert_int_equal(hold(*state, 0, now, 500), now);
}

/* Ten times, with gaps of 10 in which nothing fits. */
static void
gaps_that_are_too_short_are_no_chance(void **state)
{
	for (uint64_t i = 0; i < 10; i++)
		hold(*state, 0, 1000 + i * 510, 500);
	assert_int_equal(hold(*state, 1, 1100, 500), 1000 + 9 * 510 + 500);
}

/* From 1000 to 1780, held for 80 of each 100: five gaps of 20, in which five holds of 20 find room and no sixth one. */
static void
gaps_are_taken_until_they_are_used_up(void **state)
{
	for (uint64_t i = 0; i < 6; i++)
		hold(*state, 0, 1000 + i * 100, 80);
	assert_int_equal(hold(*state, 1, 1050, 20), 1050);
	for (uint64_t i = 1; i < 5; i++)
		assert_int_equal(hold(*state, 1, 1050 + i * 20, 20), 1050 + i * 20);
	assert_int_equal(hold(*state, 1, 1200, 20), 1580);
}

/* What never becomes zero again is a counter. */
static void
counters_are_no_locks(void **state)
{
	for (uint64_t now = 1000; now < 9000; now += 1000)
		assert_int_equal(lock_model_access(*state, 0, LOCK, now, false), now);
	assert_int_equal(lock_model_access(*state, 1, LOCK, 1500, false), 1500);
}

static void
other_locks_are_others(void **state)
{
	hold(*state, 0, 1000, 500);
	assert_int_equal(lock_model_access(*state, 1, LOCK + 64, 1200, false), 1200);
}

/* Thread 1 finds it taken, and sleeps: its waker's time is known elsewhere. */
static void
a_thread_that_fails_to_take_it_does_not_hold_it(void **state)
{
	lock_model_access(*state, 0, LOCK, 1000, false);
	assert_int_equal(lock_model_access(*state, 1, LOCK, 900, false), 900);
	assert_int_equal(lock_model_access(*state, 0, LOCK, 1500, true), 1500);
	assert_int_equal(lock_model_access(*state, 2, LOCK, 1200, false), 1500);
}

/* Thread 0 released it at 1500; before the model sees that, thread 1 has taken it, by an access that seemed to fail. */
static void
a_thread_that_took_it_before_the_release_was_seen_waits_at_its_own(void **state)
{
	hold(*state, 0, 100, 10);
	lock_model_access(*state, 0, LOCK, 1000, false);
	assert_int_equal(lock_model_access(*state, 1, LOCK, 1200, false), 1200);
	assert_int_equal(lock_model_access(*state, 0, LOCK, 1500, false), 1500);
	assert_int_equal(lock_model_access(*state, 1, LOCK, 1600, true), 1900);
	assert_int_equal(hold(*state, 2, 1300, 10), 1900);
}

static void
a_child_begins_with_none_held(void **state)
{
	lock_model_access(*state, 0, LOCK, 1000, false);
	lock_model_fork(*state);
	hold(*state, 1, 500, 1000);
	assert_int_equal(hold(*state, 2, 700, 10), 1500);
}

/* Two threads, 400 holds of 500: however the host takes turns, they take what they take one after the other. */
static void
holds_never_add_up_to_more_than_the_time(void **state)
{
	uint64_t clocks[2] = {0, 0}, last;

	for (unsigned i = 0; i < 400; i++) {
		const unsigned slot = i / 7 & 1;

		clocks[slot] = hold(*state, slot, clocks[slot], 500) + 500;
	}
	last = clocks[0] > clocks[1] ? clocks[0] : clocks[1];
	assert_in_range(last, 400 * 500, 400 * 500 + 7 * 500);
}

int
main(void)
{
#define LOCK_MODEL_TEST(test) cmocka_unit_test_setup_teardown(test, make, end)
	const struct CMUnitTest tests[] = {
		LOCK_MODEL_TEST(a_thread_that_comes_in_the_middle_waits_for_the_release),
		LOCK_MODEL_TEST(a_thread_that_comes_before_or_after_does_not_wait),
		LOCK_MODEL_TEST(the_thread_that_held_it_goes_on_as_it_likes),
		LOCK_MODEL_TEST(gaps_that_are_too_short_are_no_chance),
		LOCK_MODEL_TEST(gaps_are_taken_until_they_are_used_up),
		LOCK_MODEL_TEST(counters_are_no_locks),
		LOCK_MODEL_TEST(other_locks_are_others),
		LOCK_MODEL_TEST(a_thread_that_fails_to_take_it_does_not_hold_it),
		LOCK_MODEL_TEST(a_thread_that_took_it_before_the_release_was_seen_waits_at_its_own),
		LOCK_MODEL_TEST(a_child_begins_with_none_held),
		LOCK_MODEL_TEST(holds_never_add_up_to_more_than_the_time),
	};

	return cmocka_run_group_tests_name("lock_model", tests, NULL, NULL);
}
