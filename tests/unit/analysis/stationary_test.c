#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/stationary.h"

static void
a_loop_with_a_rare_exit_is_exact(void **state)
{
	const struct transition loop[] = {{2, 0, 1}, {0, 1, 1}, {1, 0, 999999999}, {1, 2, 1}};
	double visits[3];

	(void)state;
	assert_int_equal(stationary_solve(loop, 4, 3, 2, visits), 0);
	assert_true(fabs(visits[0] - 1e9) < 1);
	assert_true(fabs(visits[1] - 1e9) < 1);
	assert_true(visits[2] == 1);
}

static void
a_branch_is_shared_by_its_weights(void **state)
{
	const struct transition branch[] = {{3, 0, 5}, {0, 1, 30}, {0, 2, 10}, {1, 3, 1}, {2, 3, 1}};
	double visits[4];

	(void)state;
	assert_int_equal(stationary_solve(branch, 5, 4, 3, visits), 0);
	assert_true(fabs(visits[0] - 1) < 1e-12);
	assert_true(fabs(visits[1] - 0.75) < 1e-12);
	assert_true(fabs(visits[2] - 0.25) < 1e-12);
}

static void
transitions_between_the_same_states_add_up_and_a_state_may_stay(void **state)
{
	const struct transition way[] = {{1, 0, 1}, {0, 0, 1}, {0, 0, 2}, {0, 1, 1}};
	double visits[2];

	(void)state;
	assert_int_equal(stationary_solve(way, 4, 2, 1, visits), 0);
	assert_true(fabs(visits[0] - 4) < 1e-12);
}

static void
random_chains_are_balanced(void **state)
{
	(void)state;
	srandom(3);
	for (int round = 0; round < 100; round++) {
		const size_t count = 2 + (size_t)random() % 60;
		const size_t ways = count * 3;
		struct transition *chain = calloc(ways, sizeof(*chain));
		double *visits = calloc(count, sizeof(*visits));
		double *leaving = calloc(count, sizeof(*leaving));
		double *coming = calloc(count, sizeof(*coming));

		assert_true(chain && visits && leaving && coming);
		for (uint32_t i = 0; i < ways; i++) { /* a ring, so that all is reached, and more */
			const uint32_t from = i < count ? i : (uint32_t)((size_t)random() % count);
			const uint32_t to =
				i < count ? (uint32_t)((i + 1) % count) : (uint32_t)((size_t)random() % count);

			chain[i] = (struct transition){from, to, (double)(1 + random() % 1000)};
			leaving[from] += chain[i].weight;
		}
		assert_int_equal(stationary_solve(chain, ways, count, 0, visits), 0);
		for (size_t i = 0; i < ways; i++)
			coming[chain[i].to] += visits[chain[i].from] * chain[i].weight / leaving[chain[i].from];
		for (size_t i = 0; i < count; i++)
			assert_true(fabs(coming[i] - visits[i]) <= 1e-9 * visits[i]);
		free(chain);
		free(visits);
		free(leaving);
		free(coming);
	}
}

static void
what_points_nowhere_is_refused(void **state)
{
	const struct transition nowhere = {0, 2, 1}, nothing = {0, 1, 0};
	double visits[2];

	(void)state;
	assert_int_equal(stationary_solve(&nowhere, 1, 2, 0, visits), -EINVAL);
	assert_int_equal(stationary_solve(&nothing, 1, 2, 0, visits), -EINVAL);
	assert_int_equal(stationary_solve(NULL, 0, 2, 2, visits), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_with_a_rare_exit_is_exact),
		cmocka_unit_test(a_branch_is_shared_by_its_weights),
		cmocka_unit_test(transitions_between_the_same_states_add_up_and_a_state_may_stay),
		cmocka_unit_test(random_chains_are_balanced),
		cmocka_unit_test(what_points_nowhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
