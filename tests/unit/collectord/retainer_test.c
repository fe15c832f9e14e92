#include "tests/unit/test.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "collectord/retainer.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define LIMIT     (UINT64_C(1) << 20)

struct fixture {
	char directory[64];
	struct profile *profile;
	uint32_t newest;
};

static void
add_slice(struct fixture *fixture, uint64_t start_ns, uint64_t end_ns)
{
	struct slice slice = {.epoch = 1, .start_ns = start_ns, .end_ns = end_ns, .event_count = 1};
	struct profile_batch batch = {.slice = &slice};

	assert_int_equal(profile_flush(fixture->profile, &batch), 0);
	fixture->newest = slice.id;
}

/* A slice of five hours ago, and one of the last two: the clock is believed. */
static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 16 << 20};
	const uint64_t now_ns = machine_clock_ns(CLOCK_REALTIME);
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct epoch epoch = {.start_ns = 1000, .event_count = 1};

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/retainer_test.XXXXXX");
	if (!mkdtemp(fixture->directory) || profile_open(fixture->directory, &options, &fixture->profile) ||
	    profile_begin_epoch(fixture->profile, &epoch))
		return -1;
	add_slice(fixture, now_ns - 5 * HOUR_NS, now_ns - 4 * HOUR_NS);
	add_slice(fixture, now_ns - 2 * HOUR_NS, now_ns);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	profile_close(fixture->profile);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

static uint64_t
slices(const struct fixture *fixture)
{
	struct profile_stats stats;

	assert_int_equal(profile_stats(fixture->profile, &stats), 0);
	return stats.slices;
}

static bool
step(struct fixture *fixture, struct retainer *retainer, uint64_t max_age_ns, uint32_t slice, uint64_t used_bytes)
{
	const struct retention_options options = {.max_age_ns = max_age_ns, .size_limit = LIMIT};

	return retainer_step(retainer, fixture->profile, &options, slice, used_bytes, NULL);
}

/* With nothing left to do; what is older than three hours is then too old, without anybody being told. */
static struct retainer
rest(struct fixture *fixture)
{
	struct retainer retainer = {0};

	while (step(fixture, &retainer, 24 * HOUR_NS, fixture->newest, 0))
		;
	assert_true(retainer.is_done);
	assert_int_equal(slices(fixture), 2);
	return retainer;
}

static void
nothing_is_looked_at_for_a_minute_after_there_was_nothing(void **state)
{
	struct retainer retainer = rest(*state);

	assert_false(step(*state, &retainer, 3 * HOUR_NS, 2, LIMIT));
	assert_int_equal(slices(*state), 2);
}

static void
after_a_minute_it_looks_again(void **state)
{
	struct retainer retainer = rest(*state);

	retainer.done_ns -= RETAINER_REST_NS;
	assert_true(step(*state, &retainer, 3 * HOUR_NS, 2, 0));
	assert_int_equal(slices(*state), 1);
}

static void
a_slice_that_begins_makes_it_look(void **state)
{
	struct retainer retainer = rest(*state);

	assert_true(step(*state, &retainer, 3 * HOUR_NS, 3, 0));
	assert_int_equal(slices(*state), 1);
}

static void
more_in_use_than_may_be_makes_it_look(void **state)
{
	struct retainer retainer = rest(*state);

	assert_true(step(*state, &retainer, 3 * HOUR_NS, 2, LIMIT + 1));
	assert_int_equal(slices(*state), 1);
}

static void
as_long_as_there_was_something_it_looks(void **state)
{
	struct retainer retainer = rest(*state);

	retainer.is_done = false;
	assert_true(step(*state, &retainer, 3 * HOUR_NS, 2, 0));
	assert_false(retainer.is_done);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_looked_at_for_a_minute_after_there_was_nothing, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(after_a_minute_it_looks_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slice_that_begins_makes_it_look, setup, teardown),
		cmocka_unit_test_setup_teardown(more_in_use_than_may_be_makes_it_look, setup, teardown),
		cmocka_unit_test_setup_teardown(as_long_as_there_was_something_it_looks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
