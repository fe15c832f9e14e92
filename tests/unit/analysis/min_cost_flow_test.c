#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/min_cost_flow.h"

static void
assert_circulates(const struct network_arc *arcs, size_t count, size_t node_count)
{
	int64_t *balance = calloc(node_count, sizeof(*balance));

	assert_non_null(balance);
	for (size_t i = 0; i < count; i++) {
		assert_true(arcs[i].flow >= 0 && arcs[i].flow <= arcs[i].capacity);
		balance[arcs[i].from] -= arcs[i].flow;
		balance[arcs[i].to] += arcs[i].flow;
	}
	for (size_t i = 0; i < node_count; i++)
		assert_int_equal(balance[i], 0);
	free(balance);
}

/* Bellman and Ford: a circulation is the cheapest if no cycle of what could still be changed has a negative cost. */
static bool
can_be_improved(const struct network_arc *arcs, size_t count, size_t node_count)
{
	int64_t *distance = calloc(node_count, sizeof(*distance));
	bool changed = true;

	assert_non_null(distance);
	for (size_t round = 0; round <= node_count && changed; round++) {
		changed = false;
		for (size_t i = 0; i < count; i++) {
			const struct network_arc *arc = &arcs[i];

			if (arc->flow < arc->capacity && distance[arc->from] + arc->cost < distance[arc->to]) {
				distance[arc->to] = distance[arc->from] + arc->cost;
				changed = true;
			}
			if (arc->flow > 0 && distance[arc->to] - arc->cost < distance[arc->from]) {
				distance[arc->from] = distance[arc->to] - arc->cost;
				changed = true;
			}
		}
	}
	free(distance);
	return changed;
}

static void
a_gain_is_taken_as_far_as_its_capacity_goes(void **state)
{
	struct network_arc arcs[] = {
		{0, 1, 10, -5, 0},
		{1, 0, 7, 1, 0},
		{1, 0, NETWORK_UNLIMITED, 4, 0},
	};

	(void)state;
	assert_int_equal(min_cost_circulation(arcs, 3, 2), 0);
	assert_int_equal(arcs[0].flow, 10);
	assert_int_equal(arcs[1].flow, 7);
	assert_int_equal(arcs[2].flow, 3);
}

static void
what_costs_more_than_it_gains_is_left(void **state)
{
	struct network_arc arcs[] = {{0, 1, 10, -5, 0}, {1, 2, 100, 3, 0}, {2, 0, 100, 3, 0}};

	(void)state;
	assert_int_equal(min_cost_circulation(arcs, 3, 3), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(arcs[i].flow, 0);
}

static void
an_arc_to_itself_is_a_circulation(void **state)
{
	struct network_arc arcs[] = {{0, 0, 9, -1, 0}, {0, 0, 9, 1, 0}};

	(void)state;
	assert_int_equal(min_cost_circulation(arcs, 2, 1), 0);
	assert_int_equal(arcs[0].flow, 9);
	assert_int_equal(arcs[1].flow, 0);
}

static void
no_random_network_has_a_cheaper_circulation(void **state)
{
	(void)state;
	srandom(7);
	for (int round = 0; round < 300; round++) {
		const size_t node_count = 1 + (size_t)random() % 30;
		const size_t count = 1 + (size_t)random() % 120;
		struct network_arc *arcs = calloc(count, sizeof(*arcs));

		assert_non_null(arcs);
		for (size_t i = 0; i < count; i++) {
			arcs[i].from = (uint32_t)((size_t)random() % node_count);
			arcs[i].to = (uint32_t)((size_t)random() % node_count);
			arcs[i].cost = random() % 21 - 10;
			arcs[i].capacity = arcs[i].cost >= 0 && random() % 2 ? NETWORK_UNLIMITED : random() % 50;
		}
		assert_int_equal(min_cost_circulation(arcs, count, node_count), 0);
		assert_circulates(arcs, count, node_count);
		assert_false(can_be_improved(arcs, count, node_count));
		free(arcs);
	}
}

/*
 * Two rails of `length` nodes with rungs, closed by an arc back: what flows at one end matters at the other. Arcs up
 * the rails have four parts each, as blocks have that are nearest to what is wanted.
 */
static size_t
make_ladder(struct network_arc *arcs, uint32_t length)
{
	size_t count = 0;

	for (uint32_t i = 0; i + 1 < length; i++) {
		for (uint32_t side = 0; side < 2; side++) {
			const uint32_t from = 2 * i + side, to = from + 2;
			const int64_t price = 1 + random() % 5;

			arcs[count++] = (struct network_arc){from, to, random() % 3000, -4 * price, 0};
			arcs[count++] = (struct network_arc){from, to, random() % 1000, -price, 0};
			arcs[count++] = (struct network_arc){from, to, random() % 1000, price, 0};
			arcs[count++] = (struct network_arc){from, to, NETWORK_UNLIMITED, 4 * price, 0};
			arcs[count++] = (struct network_arc){from, from ^ 1U, NETWORK_UNLIMITED, 0, 0};
		}
	}
	arcs[count++] = (struct network_arc){2 * length - 2, 0, NETWORK_UNLIMITED, 0, 0};
	arcs[count++] = (struct network_arc){2 * length - 1, 0, NETWORK_UNLIMITED, 0, 0};
	return count;
}

static void
assert_ladder_is_solved(uint32_t length, bool and_is_cheapest)
{
	struct network_arc *arcs = calloc((size_t)length * 10, sizeof(*arcs));
	size_t count;

	assert_non_null(arcs);
	srandom(11);
	count = make_ladder(arcs, length);
	assert_int_equal(min_cost_circulation(arcs, count, (size_t)length * 2), 0);
	assert_circulates(arcs, count, (size_t)length * 2);
	if (and_is_cheapest)
		assert_false(can_be_improved(arcs, count, (size_t)length * 2));
	free(arcs);
}

static void
no_ladder_has_a_cheaper_circulation(void **state)
{
	(void)state;
	assert_ladder_is_solved(3, true);
	assert_ladder_is_solved(100, true);
	assert_ladder_is_solved(1500, true);
}

static void
a_ladder_of_thousands_of_nodes_does_not_take_too_many_steps(void **state)
{
	(void)state;
	assert_ladder_is_solved(10000, false);
}

static void
huge_capacities_do_not_overflow(void **state)
{
	struct network_arc arcs[] = {
		{0, 1, NETWORK_TOTAL_MAX, -NETWORK_COST_MAX, 0},
		{1, 0, NETWORK_UNLIMITED, NETWORK_COST_MAX - 1, 0},
	};

	(void)state;
	assert_int_equal(min_cost_circulation(arcs, 2, 2), 0);
	assert_true(arcs[0].flow == NETWORK_TOTAL_MAX);
}

static void
arcs_that_point_nowhere_or_gain_without_end_are_refused(void **state)
{
	struct network_arc nowhere = {0, 2, 1, 1, 0};
	struct network_arc endless = {0, 1, NETWORK_UNLIMITED, -1, 0};
	struct network_arc dear = {0, 1, 1, NETWORK_COST_MAX + 1, 0};

	(void)state;
	assert_int_equal(min_cost_circulation(&nowhere, 1, 2), -EINVAL);
	assert_int_equal(min_cost_circulation(&endless, 1, 2), -EINVAL);
	assert_int_equal(min_cost_circulation(&dear, 1, 2), -EINVAL);
	assert_int_equal(min_cost_circulation(NULL, 0, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gain_is_taken_as_far_as_its_capacity_goes),
		cmocka_unit_test(what_costs_more_than_it_gains_is_left),
		cmocka_unit_test(an_arc_to_itself_is_a_circulation),
		cmocka_unit_test(no_random_network_has_a_cheaper_circulation),
		cmocka_unit_test(no_ladder_has_a_cheaper_circulation),
		cmocka_unit_test(a_ladder_of_thousands_of_nodes_does_not_take_too_many_steps),
		cmocka_unit_test(huge_capacities_do_not_overflow),
		cmocka_unit_test(arcs_that_point_nowhere_or_gain_without_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
