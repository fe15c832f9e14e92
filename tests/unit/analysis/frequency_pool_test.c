/* Many blocks with few samples each are one observation. */
#include "analysis/frequency_private.h"
#include "tests/unit/test.h"

#define BLOCKS 6

/* Blocks 0 to 3 run equally often, and so do 4 and 5. */
static void
pool(double samples[BLOCKS])
{
	static const double costs[BLOCKS] = {1, 1, 2, 4, 1, 1};
	uint32_t classes[BLOCKS] = {0, 0, 0, 0, 1, 1};
	const struct flow_graph graph = {.block_count = BLOCKS};
	const struct estimation estimation = {.graph = &graph, .block_classes = classes, .class_count = 2};

	assert_int_equal(pool_few_samples(&estimation, costs, samples), 0);
}

/* 16 samples of 4 blocks: 2 for each cycle. */
static void
few_samples_of_a_class_are_shared_by_cost(void **state)
{
	static const double expected[] = {2, 2, 4, 8};
	double samples[BLOCKS] = {16, 0, 0, 0, 100, 100};

	(void)state;
	pool(samples);
	for (unsigned i = 0; i < 4; i++)
		assert_true(samples[i] == expected[i]);
}

static void
a_class_with_enough_samples_keeps_them(void **state)
{
	double samples[BLOCKS] = {16, 0, 0, 0, 10, 0};

	(void)state;
	pool(samples);
	assert_true(samples[4] == 10);
	assert_true(samples[5] == 0);
}

static void
no_samples_stay_none(void **state)
{
	double samples[BLOCKS] = {0};

	(void)state;
	pool(samples);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_true(samples[i] == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_samples_of_a_class_are_shared_by_cost),
		cmocka_unit_test(a_class_with_enough_samples_keeps_them),
		cmocka_unit_test(no_samples_stay_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
