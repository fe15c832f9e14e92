#include "collectord/dither.h"

#include "tests/unit/test.h"

#define MEAN UINT64_C(2000000)

/* xorshift: the same every time */
static double
random_unit(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / 9007199254740992.0;
}

static uint64_t
change_after(struct dither *dither, int32_t samples, uint32_t cpu)
{
	uint64_t period;

	dither->samples = samples;
	period = dither_next(dither, cpu);
	dither_change(dither, period, 0);
	return period;
}

static void
periods_stay_within_a_twelfth_of_the_mean_and_what_is_paid_back(void **state)
{
	const uint64_t reach = MEAN / 12 + MEAN / 32;
	struct dither dither = {0};

	(void)state;
	assert_in_range(dither_begin(&dither, MEAN, 3, 0), MEAN - reach, MEAN + reach);
	for (int32_t step = 0; step < 10000; step++)
		assert_in_range(change_after(&dither, step % 1000, 3), MEAN - reach, MEAN + reach);
	dither_begin(&dither, UINT64_C(1000000000000), 0, 0);
	for (uint32_t step = 0; step < 10000; step++)
		assert_in_range(change_after(&dither, 32, 0), UINT64_C(840000000000), UINT64_C(1160000000000));
}

static void
their_mean_is_the_mean_after_few_steps(void **state)
{
	(void)state;
	for (uint32_t cpu = 0; cpu < 64; cpu++) {
		struct dither dither = {0};
		uint64_t sum = dither_begin(&dither, MEAN, cpu, 0);

		for (uint32_t step = 1; step < 50; step++)
			sum += dither_begin(&dither, MEAN, cpu, 0);
		assert_in_range(sum / 50, MEAN - MEAN / 200, MEAN + MEAN / 200);
	}
}

static void
cpus_do_not_have_the_same_period(void **state)
{
	(void)state;
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < a; b++) {
			struct dither one = {0}, other = {0};

			assert_int_not_equal(dither_begin(&one, MEAN, a, 0), dither_begin(&other, MEAN, b, 0));
		}
}

static void
short_periods_are_left_alone(void **state)
{
	struct dither dither = {0};

	(void)state;
	assert_int_equal(dither_begin(&dither, 1, 0, 0), 1);
	assert_int_equal(change_after(&dither, 1000, 0), 1);
	assert_int_equal(dither_begin(&dither, 63, 1, 0), 63);
	assert_int_equal(change_after(&dither, 1000, 1), 63);
}

static void
a_period_is_kept_for_some_samples_and_for_some_time(void **state)
{
	struct dither dither = {0};

	(void)state;
	dither_begin(&dither, MEAN, 0, 1000);
	dither.samples = DITHER_WANTED;
	assert_false(dither_is_due(&dither, 1000 + DITHER_INTERVAL_NS - 1));
	assert_true(dither_is_due(&dither, 1000 + DITHER_INTERVAL_NS));
	dither.samples = DITHER_WANTED - 1;
	assert_false(dither_is_due(&dither, 1000 + DITHER_PATIENCE_NS - 1));
	assert_true(dither_is_due(&dither, 1000 + DITHER_PATIENCE_NS));
	dither.samples = DITHER_SAMPLES;
	assert_true(dither_is_due(&dither, 1000 + DITHER_PATIENCE_NS));
	dither.samples = DITHER_SAMPLES - 1;
	assert_false(dither_is_due(&dither, 1000 + 100 * DITHER_PATIENCE_NS));
	dither.samples = DITHER_WANTED;
	dither_change(&dither, dither_next(&dither, 0), 2000 + DITHER_INTERVAL_NS);
	assert_int_equal(dither.samples, 0);
	dither.samples = DITHER_WANTED;
	assert_false(dither_is_due(&dither, 2000 + DITHER_INTERVAL_NS + DITHER_INTERVAL_NS - 1));
}

/* What waits in a ring is counted by its length: when it was less than that said, there are fewer than none for a
 * while. */
static void
fewer_samples_than_none_are_no_samples(void **state)
{
	struct dither dither = {0};

	(void)state;
	dither_begin(&dither, MEAN, 0, 0);
	dither.samples = -2;
	assert_false(dither_is_due(&dither, DITHER_INTERVAL_NS));
}

/*
 * Sample `stretches` of random length, each change cutting a period somewhere. By how much of the events do samples
 * times the mean miss them?
 */
static double
events_missed(int32_t shortest, int32_t longest, unsigned stretches)
{
	uint64_t seed = 88172645463325252, samples = 0;
	struct dither dither = {0};
	double events = 0;

	dither_begin(&dither, MEAN, 0, 0);
	for (unsigned i = 0; i < stretches; i++) {
		int32_t taken = shortest + (int32_t)(random_unit(&seed) * (longest - shortest));

		events += (taken + random_unit(&seed)) * (double)dither.period;
		samples += (uint64_t)taken;
		change_after(&dither, taken, 0);
	}
	events -= (double)samples * (double)MEAN;
	return (events < 0 ? -events : events) / ((double)samples * (double)MEAN);
}

/* Not paid back, half a period would be missing of each 32 to 64: one in a hundred. */
static void
samples_times_the_mean_period_are_the_events(void **state)
{
	(void)state;
	assert_true(events_missed(32, 64, 4000) < 0.0005);
	assert_true(events_missed(32, 2000, 4000) < 0.0005);
	assert_true(events_missed(250, 251, 240) < 0.005); /* a minute */
}

/* IBS takes multiples of 16 and nothing else. */
static void
periods_are_multiples_of_the_grain(void **state)
{
	struct dither dither = {.grain = 16};

	(void)state;
	assert_int_equal(dither_begin(&dither, 16 * 62501, 3, 0) % 16, 0);
	for (int32_t step = 0; step < 1000; step++)
		assert_int_equal(change_after(&dither, step, 3) % 16, 0);
	assert_int_equal(dither_begin(&dither, 160, 0, 0), 160);
}

/* A stretch of 100 samples that were 5 % longer than the mean: 5 periods are owed, and half of the one cut short. */
static void
what_the_kernel_refused_is_not_booked(void **state)
{
	struct dither dither = {.mean = 1000, .period = 1050, .samples = 100}, refused;

	(void)state;
	refused = dither;
	dither_change(&dither, 990, 7);
	assert_int_equal(dither.period, 990);
	assert_true(dither.owed == 5000 + 525);
	dither_keep(&refused, 7);
	assert_int_equal(refused.period, 1050);
	assert_true(refused.owed == 5000);
	assert_int_equal(refused.samples, 0);
	assert_int_equal(refused.since_ns, 7);
}

/* A kernel that refuses each change samples with one period for ever: what is owed says by how much it is off. */
static void
a_period_that_cannot_be_changed_is_booked_as_it_was(void **state)
{
	struct dither dither = {0};
	const uint64_t period = dither_begin(&dither, MEAN, 5, 0);

	(void)state;
	for (int stretch = 0; stretch < 100; stretch++) {
		dither.samples = 1000;
		(void)dither_next(&dither, 5);
		dither_keep(&dither, 0);
	}
	assert_int_equal(dither.period, period);
	assert_true(dither.owed == 100000 * ((double)period - (double)MEAN));
}

/* A program whose functions take 60, 30 and 10 % of a loop of `loop_ns`; where it stands. */
static unsigned
function_at(double time_ns, double loop_ns)
{
	const double loops = time_ns / loop_ns, place = loops - (double)(uint64_t)loops;

	return place < 0.6 ? 0 : place < 0.9 ? 1 : 2;
}

/* The share that samples of 2.5 s give to the function with 60 %; `dithered` or not. */
static double
share_of_60(double loop_ns, uint64_t *seed, bool dithered, unsigned *taken)
{
	struct dither dither = {.step = (uint32_t)(random_unit(seed) * 1e6)};
	uint64_t period = dither_begin(&dither, MEAN, 0, 0);
	double now = random_unit(seed) * loop_ns, end = now + 2.5e9, change = now + random_unit(seed) * 2e9;
	unsigned first = 0;

	for (*taken = 0;;) {
		if (dithered && now + (double)period > change) {
			now = change; /* cut short */
			change += 1.9e9 + 4e8 * random_unit(seed);
			period = dither_next(&dither, 0);
			dither_change(&dither, period, 0);
			continue;
		}
		now += dithered ? (double)period : (double)MEAN;
		if (now > end)
			break;
		dither.samples++;
		(*taken)++;
		first += function_at(now, loop_ns) == 0;
	}
	return (double)first / *taken;
}

/* The mean square of what the share is off, in variances of samples taken at random. */
static double
unfairness(double loop_ns, bool dithered)
{
	uint64_t seed = 88172645463325252;
	double sum = 0;

	for (unsigned run = 0; run < 200; run++) {
		unsigned taken;
		double off = share_of_60(loop_ns, &seed, dithered, &taken) - 0.6;

		sum += off * off * taken / (0.6 * 0.4);
	}
	return sum / 200;
}

static void
a_program_of_two_seconds_has_its_shares_whatever_its_loops_length(void **state)
{
	static const double lengths[] = {1, 0.5, 2, 1.01, 0.97, 0.9, 1.1, 1.03 * 2, 4, 5, 10, 0.1, 1.618};

	(void)state;
	assert_true(unfairness(1.0 * (double)MEAN, false) > 15 * 15);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_true(unfairness(lengths[i] * (double)MEAN, true) < 2.7 * 2.7);
}

/* Random samples would vary by 1 / sqrt(1250): 2.8 %. */
static void
what_a_program_of_two_seconds_has_in_all_varies_hardly_more_than_random_samples(void **state)
{
	uint64_t seed = 88172645463325252;
	double sum = 0;

	(void)state;
	for (unsigned run = 0; run < 2000; run++) {
		unsigned taken;
		double off;

		(void)share_of_60(1.618 * (double)MEAN, &seed, true, &taken);
		off = taken / (2.5e9 / (double)MEAN) - 1;
		sum += off * off;
	}
	assert_true(sum / 2000 < 0.032 * 0.032);
}

static void
the_shortest_period_is_within_the_limit(void **state)
{
	(void)state;
	for (uint64_t limit = 1000; limit < 100000; limit = limit * 3 / 2) {
		const double rate = (double)dither_rate_limit(limit);

		assert_true(rate / (1 - 1.0 / 12 - 1.0 / 32) <= (double)limit);
		assert_true(rate > 0.84 * (double)limit);
	}
	assert_true(dither_rate_limit(UINT64_MAX) > UINT64_MAX / 2);
	assert_int_equal(dither_rate_limit(32), 28);
}

/* A quarter of a second's samples at the begin of a burst, then a quiet minute, as 200 a second see them. */
static void
a_period_that_follows_a_rate_is_what_was_counted_divided_by_it(void **state)
{
	struct dither dither = {0};
	uint64_t now_ns = 1000;

	(void)state;
	assert_int_equal(dither_begin(&dither, 1, 0, now_ns), 1);
	dither.samples = 199;
	assert_false(dither_pace_is_due(&dither, 200, now_ns + 1000000));
	dither.samples = 200;
	assert_true(dither_pace_is_due(&dither, 200, now_ns + 1000000));
	now_ns += 1000000; /* 200 in a millisecond: 200,000 a second */
	assert_in_range(dither_pace(&dither, 200, 0, now_ns), 1000 - 1000 / 12 - 1, 1000 + 1000 / 12 + 1);
	dither_change(&dither, 1000, now_ns);
	assert_false(dither_pace_is_due(&dither, 200, now_ns + DITHER_INTERVAL_NS - 1));
	assert_true(dither_pace_is_due(&dither, 200, now_ns + DITHER_INTERVAL_NS));
	now_ns += UINT64_C(60000000000);
	dither.samples = 2;
	assert_int_equal(dither_pace(&dither, 200, 0, now_ns), 1);
	dither.samples = -2;
	assert_int_equal(dither_pace(&dither, 200, 0, now_ns), 1);
	dither.period = UINT64_C(1) << 62;
	dither.samples = INT32_MAX;
	assert_in_range(dither_pace(&dither, 1, 0, now_ns), UINT64_C(900000000000), UINT64_C(1100000000000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_stay_within_a_twelfth_of_the_mean_and_what_is_paid_back),
		cmocka_unit_test(their_mean_is_the_mean_after_few_steps),
		cmocka_unit_test(cpus_do_not_have_the_same_period),
		cmocka_unit_test(short_periods_are_left_alone),
		cmocka_unit_test(a_period_is_kept_for_some_samples_and_for_some_time),
		cmocka_unit_test(fewer_samples_than_none_are_no_samples),
		cmocka_unit_test(samples_times_the_mean_period_are_the_events),
		cmocka_unit_test(periods_are_multiples_of_the_grain),
		cmocka_unit_test(what_the_kernel_refused_is_not_booked),
		cmocka_unit_test(a_period_that_cannot_be_changed_is_booked_as_it_was),
		cmocka_unit_test(a_program_of_two_seconds_has_its_shares_whatever_its_loops_length),
		cmocka_unit_test(what_a_program_of_two_seconds_has_in_all_varies_hardly_more_than_random_samples),
		cmocka_unit_test(the_shortest_period_is_within_the_limit),
		cmocka_unit_test(a_period_that_follows_a_rate_is_what_was_counted_divided_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
