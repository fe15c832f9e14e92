#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/markov.h"

/* Visits by weights: an edge's probability is its weight divided by the sum of those from its state. */
static void
solve(const struct markov_edge *edges, const double *weights, size_t count, size_t state_count, uint32_t origin,
      double *visits)
{
	double *probabilities = calloc(count, sizeof(*probabilities)), *sums = calloc(state_count, sizeof(*sums));
	struct markov *markov;

	assert_true(probabilities && sums);
	for (size_t i = 0; i < count; i++)
		sums[edges[i].from] += weights[i];
	for (size_t i = 0; i < count; i++)
		probabilities[i] = weights[i] / sums[edges[i].from];
	assert_int_equal(markov_plan(edges, count, state_count, origin, 1000000, &markov), 0);
	markov_visits(markov, probabilities, visits);
	markov_free(markov);
	free(probabilities);
	free(sums);
}

static void
a_loop_with_a_rare_exit_is_exact(void **state)
{
	const struct markov_edge edges[] = {{2, 0}, {0, 1}, {1, 0}, {1, 2}};
	const double weights[] = {1, 1, 999999999, 1};
	double visits[3];

	(void)state;
	solve(edges, weights, 4, 3, 2, visits);
	assert_true(fabs(visits[0] - 1e9) < 1);
	assert_true(fabs(visits[1] - 1e9) < 1);
	assert_true(visits[2] == 1);
}

static void
a_branch_is_shared_by_its_weights(void **state)
{
	const struct markov_edge edges[] = {{3, 0}, {0, 1}, {0, 2}, {1, 3}, {2, 3}};
	const double weights[] = {5, 30, 10, 1, 1};
	double visits[4];

	(void)state;
	solve(edges, weights, 5, 4, 3, visits);
	assert_true(fabs(visits[0] - 1) < 1e-12);
	assert_true(fabs(visits[1] - 0.75) < 1e-12);
	assert_true(fabs(visits[2] - 0.25) < 1e-12);
}

static void
edges_between_the_same_states_add_up_and_a_state_may_stay(void **state)
{
	const struct markov_edge edges[] = {{1, 0}, {0, 0}, {0, 0}, {0, 1}};
	const double weights[] = {1, 1, 2, 1};
	double visits[2];

	(void)state;
	solve(edges, weights, 4, 2, 1, visits);
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
		struct markov_edge *edges = calloc(ways, sizeof(*edges));
		double *weights = calloc(ways, sizeof(*weights));
		double *visits = calloc(count, sizeof(*visits));
		double *leaving = calloc(count, sizeof(*leaving));
		double *coming = calloc(count, sizeof(*coming));

		assert_true(edges && weights && visits && leaving && coming);
		for (uint32_t i = 0; i < ways; i++) { /* a ring, so that all is reached, and more */
			const uint32_t from = i < count ? i : (uint32_t)((size_t)random() % count);
			const uint32_t to =
				i < count ? (uint32_t)((i + 1) % count) : (uint32_t)((size_t)random() % count);

			edges[i] = (struct markov_edge){from, to};
			weights[i] = (double)(1 + random() % 1000);
			leaving[from] += weights[i];
		}
		solve(edges, weights, ways, count, 0, visits);
		for (size_t i = 0; i < ways; i++)
			coming[edges[i].to] += visits[edges[i].from] * weights[i] / leaving[edges[i].from];
		for (size_t i = 0; i < count; i++)
			assert_true(fabs(coming[i] - visits[i]) <= 1e-9 * visits[i]);
		free(edges);
		free(weights);
		free(visits);
		free(leaving);
		free(coming);
	}
}

static void
what_points_nowhere_is_refused_and_what_is_never_taken_leads_nowhere(void **state)
{
	const struct markov_edge nowhere = {0, 2}, nothing = {0, 1};
	const double never = 0;
	struct markov *markov;
	double visits[2];

	(void)state;
	assert_int_equal(markov_plan(&nowhere, 1, 2, 0, 1000, &markov), -EINVAL);
	assert_null(markov);
	assert_int_equal(markov_plan(NULL, 0, 2, 2, 1000, &markov), -EINVAL);
	assert_int_equal(markov_plan(&nothing, 1, 2, 0, 1000, &markov), 0);
	markov_visits(markov, &never, visits);
	assert_true(visits[0] == 1 && visits[1] == 0);
	markov_free(markov);
}

static void
assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-9 * fabs(expected) + 1e-12)
		fail_msg("%.12g is not %.12g", value, expected);
}

/* 0 is outside. 1 enters, 2 is a loop by itself, nine times in ten; then 3 or 4, and 3 goes out or to 4. */
static const struct markov_edge loop[] = {{0, 1}, {1, 2}, {2, 2}, {2, 3}, {2, 4}, {3, 0}, {3, 4}, {4, 0}};
static const double chances[] = {1, 1, 0.9, 0.04, 0.06, 0.5, 0.5, 1};

static void
visits_are_what_comes_in(void **state)
{
	static const double expected[] = {1, 1, 10, 0.4, 0.8};
	struct markov *markov;
	double visits[5];

	(void)state;
	assert_int_equal(markov_plan(loop, 8, 5, 0, 1000, &markov), 0);
	for (int again = 0; again < 2; again++) {
		markov_visits(markov, chances, visits);
		for (size_t i = 0; i < 5; i++)
			assert_near(visits[i], expected[i]);
	}
	markov_free(markov);
}

/* A visit of 3 is worth 10, of 4 is worth 1: from 2 on, 0.4 visits of 3 and 0.8 of 4 are to come. */
static void
values_are_what_is_still_to_come(void **state)
{
	static const double rewards[] = {0, 0, 0, 10, 1}, expected[] = {0, 4.8, 4.8, 10.5, 1};
	struct markov *markov;
	double visits[5], values[5];

	(void)state;
	assert_int_equal(markov_plan(loop, 8, 5, 0, 1000, &markov), 0);
	markov_visits(markov, chances, visits);
	markov_values(markov, rewards, values);
	for (size_t i = 0; i < 5; i++)
		assert_near(values[i], expected[i]);
	markov_free(markov);
}

static double
worth(struct markov *markov, const double *probabilities, const double *rewards, size_t count, double *visits)
{
	double sum = 0;

	markov_visits(markov, probabilities, visits);
	for (size_t i = 0; i < count; i++)
		sum += visits[i] * rewards[i];
	return sum;
}

/* Random chains of 30 states: what comes in goes out, and values are slopes, by small differences. */
static void
in_random_chains_what_comes_in_goes_out_and_values_are_slopes(void **state)
{
	enum { STATES = 30, WAYS = 70 };

	(void)state;
	srandom(5);
	for (int round = 0; round < 50; round++) {
		struct markov_edge ways[WAYS];
		double probabilities[WAYS], sums[STATES] = {0}, visits[STATES], values[STATES], rewards[STATES],
					    in[STATES] = {0};
		struct markov *markov;

		for (size_t i = 0; i < WAYS; i++) { /* from each to the next, and any */
			ways[i].from = (uint32_t)(i < STATES ? i : (size_t)random() % STATES);
			ways[i].to = (uint32_t)(i < STATES ? (i + 1) % STATES : (size_t)random() % STATES);
			probabilities[i] = 0.1 + (double)(random() % 100);
			sums[ways[i].from] += probabilities[i];
		}
		for (size_t i = 0; i < WAYS; i++)
			probabilities[i] /= sums[ways[i].from];
		for (size_t i = 0; i < STATES; i++)
			rewards[i] = i == 0 ? 0 : (double)(random() % 20) - 5;
		assert_int_equal(markov_plan(ways, WAYS, STATES, 0, 100000, &markov), 0);
		markov_visits(markov, probabilities, visits);
		for (size_t i = 0; i < WAYS; i++)
			in[ways[i].to] += visits[ways[i].from] * probabilities[i];
		for (size_t i = 0; i < STATES; i++)
			assert_near(in[i], visits[i]);
		for (size_t i = STATES; i < WAYS; i++) { /* some of what took the way to the next state takes this */
			const size_t other = ways[i].from;
			const double step = 1e-6 * probabilities[other];
			double low, high, slope;

			markov_visits(markov, probabilities, visits);
			markov_values(markov, rewards, values);
			slope = visits[other] * (values[ways[i].to] - values[ways[other].to]);
			probabilities[i] += step;
			probabilities[other] -= step;
			high = worth(markov, probabilities, rewards, STATES, visits);
			probabilities[i] -= 2 * step;
			probabilities[other] += 2 * step;
			low = worth(markov, probabilities, rewards, STATES, visits);
			probabilities[i] += step;
			probabilities[other] -= step;
			assert_true(fabs((high - low) / (2 * step) - slope) <= 1e-4 * (fabs(slope) + 1));
		}
		markov_free(markov);
	}
}

static void
what_nothing_leads_to_or_away_from_is_not_visited(void **state)
{
	const struct markov_edge ways[] = {{0, 1}, {1, 0}, {2, 1}, {1, 3}, {3, 3}};
	const double half[] = {1, 0.5, 1, 0.5, 1};
	struct markov *markov;
	double visits[4];

	(void)state;
	assert_int_equal(markov_plan(ways, 5, 4, 0, 1000, &markov), 0);
	markov_visits(markov, half, visits);
	assert_near(visits[2], 0);
	assert_near(visits[3], 0);
	markov_free(markov);
}

static void
what_is_too_entangled_or_no_state_is_refused(void **state)
{
	struct markov_edge ways[400];
	struct markov *markov;
	size_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		for (uint32_t k = 0; k < 20; k++)
			ways[count++] = (struct markov_edge){i, k};
	assert_int_equal(markov_plan(ways, count, 20, 0, 1000, &markov), -E2BIG);
	assert_int_equal(markov_plan(ways, count, 19, 0, 100000, &markov), -EINVAL);
	assert_int_equal(markov_plan(ways, count, 20, 0, 100000, &markov), 0);
	assert_true(markov_multiplications(markov) <= 100000);
	markov_free(markov);
	markov_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_with_a_rare_exit_is_exact),
		cmocka_unit_test(a_branch_is_shared_by_its_weights),
		cmocka_unit_test(edges_between_the_same_states_add_up_and_a_state_may_stay),
		cmocka_unit_test(random_chains_are_balanced),
		cmocka_unit_test(what_points_nowhere_is_refused_and_what_is_never_taken_leads_nowhere),
		cmocka_unit_test(visits_are_what_comes_in),
		cmocka_unit_test(values_are_what_is_still_to_come),
		cmocka_unit_test(in_random_chains_what_comes_in_goes_out_and_values_are_slopes),
		cmocka_unit_test(what_nothing_leads_to_or_away_from_is_not_visited),
		cmocka_unit_test(what_is_too_entangled_or_no_state_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
