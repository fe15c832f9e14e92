#include "profile/edges.h"

#include "tests/unit/test.h"

#define MANY 300000 /* more than are merged first */

static void
assert_edge(const struct profile_edge *edge, uint16_t event, uint32_t image, uint64_t from, uint64_t to, uint64_t count)
{
	assert_int_equal(edge->event, event);
	assert_int_equal(edge->image, image);
	assert_int_equal(edge->from, from);
	assert_int_equal(edge->to, to);
	assert_int_equal(edge->count, count);
}

static void
what_is_added_stays_in_its_order(void **state)
{
	struct edge_list list = {0};

	(void)state;
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.from = 2, .to = 1, .count = 3}), 0);
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.from = 1, .to = 1, .count = 4}), 0);
	assert_int_equal(list.count, 2);
	assert_edge(&list.edges[0], 0, 0, 2, 1, 3);
	assert_edge(&list.edges[1], 0, 0, 1, 1, 4);
	edge_list_fini(&list);
}

/* Each differs from the one after it in one thing only. */
static void
merging_sorts_by_event_image_from_and_to(void **state)
{
	static const struct profile_edge given[] = {
		{.event = 1, .image = 0, .from = 0, .to = 0, .count = 5},
		{.event = 0, .image = 9, .from = 0, .to = 0, .count = 4},
		{.event = 0, .image = 8, .from = 7, .to = 0, .count = 3},
		{.event = 0, .image = 8, .from = 6, .to = 5, .count = 2},
		{.event = 0, .image = 8, .from = 6, .to = 4, .count = 1},
	};
	struct edge_list list = {0};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(edge_list_add(&list, &given[i]), 0);
	edge_list_merge(&list);
	assert_int_equal(list.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(list.edges[i].count, i + 1);
	edge_list_fini(&list);
}

static void
what_is_there_twice_becomes_one(void **state)
{
	struct edge_list list = {0};

	(void)state;
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.image = 1, .from = 4, .to = 2, .count = 10}), 0);
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.image = 2, .from = 4, .to = 2, .count = 100}), 0);
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.image = 1, .from = 4, .to = 2, .count = 1}), 0);
	edge_list_merge(&list);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.merged, 2);
	assert_edge(&list.edges[0], 0, 1, 4, 2, 11);
	assert_edge(&list.edges[1], 0, 2, 4, 2, 100);
	edge_list_fini(&list);
}

static void
a_sum_that_is_too_large_is_the_largest_number(void **state)
{
	struct edge_list list = {0};

	(void)state;
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.count = UINT64_MAX - 1}), 0);
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.count = 2}), 0);
	edge_list_merge(&list);
	assert_int_equal(list.count, 1);
	assert_true(list.edges[0].count == UINT64_MAX);
	edge_list_fini(&list);
}

static void
the_same_few_edges_gathered_very_often_take_the_memory_of_few(void **state)
{
	struct edge_list list = {0};

	(void)state;
	for (uint32_t i = 0; i < 3 * MANY; i++)
		assert_int_equal(edge_list_gather(&list, &(struct profile_edge){.from = i % 3, .count = 1}), 0);
	assert_in_range(list.capacity, 3, 2 * MANY);
	edge_list_merge(&list);
	assert_int_equal(list.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_edge(&list.edges[i], 0, 0, i, 0, MANY);
	edge_list_fini(&list);
}

static void
a_list_that_was_cleared_begins_anew(void **state)
{
	struct edge_list list = {0};

	(void)state;
	assert_int_equal(edge_list_add(&list, &(struct profile_edge){.from = 1, .count = 1}), 0);
	edge_list_merge(&list);
	edge_list_clear(&list);
	assert_int_equal(list.count, 0);
	assert_int_equal(list.merged, 0);
	edge_list_merge(&list);
	assert_int_equal(list.count, 0);
	edge_list_fini(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_stays_in_its_order),
		cmocka_unit_test(merging_sorts_by_event_image_from_and_to),
		cmocka_unit_test(what_is_there_twice_becomes_one),
		cmocka_unit_test(a_sum_that_is_too_large_is_the_largest_number),
		cmocka_unit_test(the_same_few_edges_gathered_very_often_take_the_memory_of_few),
		cmocka_unit_test(a_list_that_was_cleared_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
