/* Tests of collectord/stack_sampler.h: what a sample counts for, and how many there may be. */
#include "tests/unit/test.h"

#include "collectord/stack_sampler.h"

/* Records are drained later than they are taken: the period that counted then matters, not today's. */
static void
a_sample_counts_for_the_period_that_its_cpu_had_then(void **state)
{
	const struct stack_sampler sampler = {.idle_periods = 3};
	struct stack_periods periods = {0};

	(void)state;
	stack_periods_switch(&periods, 100, false);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 150), 1);
	stack_periods_switch(&periods, 200, true);
	stack_periods_switch(&periods, 300, false);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 199), 1);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 200), 3);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 299), 3);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 300), 1);
}

/* Of switches, the last eight are known; what is older counts as the oldest of them. */
static void
old_switches_are_forgotten(void **state)
{
	const struct stack_sampler sampler = {.idle_periods = 3};
	struct stack_periods periods = {0};

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		stack_periods_switch(&periods, 100 * i, i % 2 == 0);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 1950), 1);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 1850), 3);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 1250), 3);
	assert_int_equal(stack_sampler_weight(&sampler, &periods, 150), 3);
}

/*
 * A quarter of the limit is for stacks: 0.1 % of a CPU pays 250 us a second, and a stack costs 4 us of a sample, 6 of
 * the copy and 15 of unwinding. The period is as much longer as there are fewer.
 */
static void
stacks_take_a_quarter_of_the_limit_at_most(void **state)
{
	struct stack_sampler sampler = {.idle_periods = 3};

	(void)state;
	sampler.event.rate = 49;
	sampler.counted.period = 1000000000 / 49;
	stack_sampler_plan(&sampler, 4000, 0, 10000, NULL);
	assert_int_equal(sampler.event.rate, 49);
	assert_int_equal(sampler.event.period, 1000000000 / 49);
	stack_sampler_plan(&sampler, 4000, 0, 1000, NULL);
	assert_int_equal(sampler.event.rate, 10);
	assert_in_range(sampler.event.period, 99999000, 100000000);
	assert_int_equal(sampler.idle_periods, 1);
	assert_int_equal(sampler.event.cost_ns, 10000);
	stack_sampler_plan(&sampler, 4000, 0, 10, NULL); /* one stack a second is taken in any case */
	assert_int_equal(sampler.event.rate, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_counts_for_the_period_that_its_cpu_had_then),
		cmocka_unit_test(old_switches_are_forgotten),
		cmocka_unit_test(stacks_take_a_quarter_of_the_limit_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
