/* Tests of collectord/capture_account.h: no clock and no process; what runs cost is made up. */
#include "tests/unit/test.h"

#include "collectord/capture_account.h"

#define MS 1000000

static const struct capture_work smallest = {0}, middling = {.file_size = 1000000, .granule_count = 10};

/* 3 ms for a run, 1.5 ns a byte, 0.15 ms a granule; and at first twice as much is expected. */
static void
a_run_waits_until_it_is_saved_for(void **state)
{
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	assert_false(capture_account_affords(&account, &smallest));
	assert_true(capture_account_earn(&account, 600000 - 1));
	assert_false(capture_account_affords(&account, &smallest));
	assert_true(capture_account_earn(&account, 1));
	assert_true(capture_account_affords(&account, &smallest));
	assert_false(capture_account_earn(&account, 0));
	capture_account_earn(&account, 600000 - 1);
	assert_false(capture_account_affords(&account, &middling));
	capture_account_earn(&account, 1);
	assert_true(capture_account_affords(&account, &middling));
}

static void
what_a_run_cost_more_delays_the_next(void **state)
{
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	capture_account_earn(&account, 600000);
	capture_account_spend(&account, 20 * MS); /* 14 ms more than there were */
	capture_account_earn(&account, 2000000 - 1);
	assert_false(capture_account_affords(&account, &smallest));
	capture_account_earn(&account, 1);
	assert_true(capture_account_affords(&account, &smallest));
}

/* A file that costs more than may be saved begins when as much is there, and the rest is a debt. */
static void
no_more_is_saved_than_may_be(void **state)
{
	const struct capture_work largest = {.file_size = UINT64_MAX, .granule_count = SIZE_MAX};
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	capture_account_earn(&account, 8000000 - 1);
	assert_false(capture_account_affords(&account, &largest));
	assert_true(capture_account_earn(&account, UINT64_MAX));
	assert_true(capture_account_affords(&account, &largest));
	assert_false(capture_account_earn(&account, UINT64_MAX));
	assert_true(account.saved_ns == 80 * MS);
	capture_account_spend(&account, 1000 * (uint64_t)MS);
	capture_account_earn(&account, 100000000 - 1);
	assert_false(capture_account_affords(&account, &largest));
	capture_account_earn(&account, 1);
	assert_true(capture_account_affords(&account, &largest));
}

static void
what_is_expected_follows_what_runs_cost(void **state)
{
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	capture_account_learn(&account, &middling, 36 * MS); /* six times as much as reckoned: a quarter of the way */
	assert_true(capture_account_expected_ns(&account, &smallest) == 9.0 * MS);
	for (int i = 0; i < 20; i++)
		capture_account_learn(&account, &middling, 36 * MS);
	assert_true(capture_account_expected_ns(&account, &smallest) > 17.9 * MS);
	assert_true(capture_account_expected_ns(&account, &middling) > 35.8 * MS); /* others cost as much more */
	for (int i = 0; i < 20; i++)
		capture_account_learn(&account, &middling, 3 * MS);
	assert_true(capture_account_expected_ns(&account, &smallest) < 1.6 * MS);
}

static void
nothing_is_learned_of_a_file_of_unknown_size(void **state)
{
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	capture_account_learn(&account, &smallest, 100 * MS);
	assert_true(capture_account_expected_ns(&account, &smallest) == 6.0 * MS);
}

/* What is expected of others grows by a limited factor. What the run cost is debited nevertheless. */
static void
one_run_of_a_minute_does_not_make_others_expected_to_be_as_long(void **state)
{
	struct capture_account account;

	(void)state;
	capture_account_init(&account, 80 * MS);
	capture_account_learn(&account, &middling, 60000 * (uint64_t)MS); /* counts 16 times */
	assert_true(capture_account_expected_ns(&account, &smallest) == 16.5 * MS);
}

/* Numbers that look random, below `limit`. */
static uint64_t
draw(uint64_t limit)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % limit;
}

/*
 * Ten thousand million samples, and always a file that waits, of 1 KiB to 32 MiB, with up to 199 granules. What a run
 * costs is up to `most` times what is expected of a run at first, a tenth of it later, when it is stored.
 */
static void
check_cost_of_a_sample(uint64_t most, bool learns)
{
	uint64_t samples = 0, cost_ns = 0, unstored_ns = 0, last_ns = 0;
	struct capture_work work = middling;
	struct capture_account account, untaught;
	int64_t most_owed_ns = 0;

	capture_account_init(&account, 80 * MS);
	capture_account_init(&untaught, 80 * MS);
	for (int flush = 0; flush < 1000000; flush++) {
		const uint64_t taken = draw(20001);
		int64_t owed_ns;

		samples += taken;
		capture_account_earn(&account, taken);
		capture_account_spend(&account, unstored_ns);
		unstored_ns = 0;
		if (capture_account_affords(&account, &work)) {
			assert_true(account.saved_ns > 0);
			last_ns = (uint64_t)capture_account_expected_ns(&untaught, &work) * draw(100 * most + 1) / 100;
			unstored_ns = last_ns / 10;
			cost_ns += last_ns;
			capture_account_spend(&account, last_ns - unstored_ns);
			if (learns)
				capture_account_learn(&account, &work, last_ns);
			work = (struct capture_work){UINT64_C(1) << (10 + draw(16)), (size_t)draw(200)};
		}
		owed_ns = (int64_t)unstored_ns - account.saved_ns;
		assert_true(owed_ns <= (int64_t)last_ns);
		if (owed_ns > most_owed_ns)
			most_owed_ns = owed_ns;
		assert_true(cost_ns <= samples * CAPTURE_SAMPLE_PAYS_NS + (owed_ns > 0 ? (uint64_t)owed_ns : 0));
	}
	assert_true(most_owed_ns > 0);
	assert_true(cost_ns > samples * CAPTURE_SAMPLE_PAYS_NS * 9 / 10); /* what may be spent is */
}

static void
captures_cost_a_sample_no_more_than_it_pays(void **state)
{
	(void)state;
	check_cost_of_a_sample(2, true);
	check_cost_of_a_sample(2, false);
	check_cost_of_a_sample(10, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_waits_until_it_is_saved_for),
		cmocka_unit_test(what_a_run_cost_more_delays_the_next),
		cmocka_unit_test(no_more_is_saved_than_may_be),
		cmocka_unit_test(what_is_expected_follows_what_runs_cost),
		cmocka_unit_test(nothing_is_learned_of_a_file_of_unknown_size),
		cmocka_unit_test(one_run_of_a_minute_does_not_make_others_expected_to_be_as_long),
		cmocka_unit_test(captures_cost_a_sample_no_more_than_it_pays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
