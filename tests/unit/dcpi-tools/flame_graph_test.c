/* Flame graphs: places, two sets beside each other, and what their difference is worth. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/flame/flame_graph.h"
#include "tests/unit/dcpi-tools/fixture.h"

enum { PROGRAM, LIBRARY, KERNEL, IMAGES };
enum { MAIN, SORT, READ, END, FRAMES };

struct graph_fixture {
	struct selection_fixture sampled;
	struct call_frame frames[FRAMES];
	struct flame_graph graph;
};

static int
setup(void **state)
{
	struct graph_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture_init(&fixture->sampled);
	fixture_image(&fixture->sampled, IMAGE_USER, "/bin/program", "");
	fixture_image(&fixture->sampled, IMAGE_USER, "/lib/libsort.so.1", "");
	fixture_image(&fixture->sampled, IMAGE_KERNEL, "[kernel]", "");
	fixture->frames[MAIN] = (struct call_frame){(char *)"main", "/bin/program", PROGRAM, 0, 0, 0};
	fixture->frames[SORT] = (struct call_frame){(char *)"sort", "/lib/libsort.so.1", LIBRARY, 0, 0, 0};
	fixture->frames[READ] = (struct call_frame){(char *)"read", "[kernel]", KERNEL, 0, 0, 0};
	fixture->frames[END] = (struct call_frame){(char *)"[truncated: depth]", NULL, 0, STACK_END_DEPTH, 0, 0};
	return flame_graph_init(&fixture->graph);
}

static int
teardown(void **state)
{
	struct graph_fixture *fixture = *state;

	flame_graph_fini(&fixture->graph);
	free(fixture);
	return 0;
}

/* main, which calls read and sort, so many samples each; and so many of a stack without its end. */
static void
add(struct graph_fixture *fixture, size_t set, uint64_t read, uint64_t sort, uint64_t truncated)
{
	const uint64_t all = read + sort + truncated;
	struct call_node nodes[] = {
		{.total = all, .first_child = 1},
		{.frame = MAIN, .total = read + sort, .first_child = 3, .next_sibling = 2},
		{.frame = END, .total = truncated},
		{.frame = READ, .parent = 1, .total = read, .next_sibling = 4},
		{.frame = SORT, .parent = 1, .total = sort},
	};
	const struct call_tree tree = {
		.frames = fixture->frames,
		.frame_count = FRAMES,
		.nodes = nodes,
		.node_count = sizeof(nodes) / sizeof(nodes[0]),
		.samples = all,
	};

	for (size_t i = 0; i < tree.node_count; i++) {
		nodes[i].taken = nodes[i].total;
		nodes[i].squares = (double)nodes[i].total;
	}
	assert_int_equal(flame_graph_add(&fixture->graph, set, &tree, &fixture->sampled.selection), 0);
}

static const struct flame_node *
find(const struct flame_graph *graph, const char *title)
{
	for (size_t i = 1; i < graph->node_count; i++)
		if (strcmp(graph->frames[graph->nodes[i].frame].title, title) == 0)
			return &graph->nodes[i];
	fail_msg("there is no frame %s", title);
	return NULL;
}

static void
assert_place(const struct flame_graph *graph, const char *title, double left, double width)
{
	assert_true(fabs(find(graph, title)->left - left) < 1e-12);
	assert_true(fabs(find(graph, title)->width - width) < 1e-12);
}

/* Of 100: main has 80, of which sort 50 come first. */
static void
frames_are_within_their_callers_the_largest_first(void **state)
{
	struct graph_fixture *fixture = *state;

	add(fixture, 0, 30, 50, 20);
	assert_int_equal(flame_graph_place(&fixture->graph, 0), 0);
	assert_place(&fixture->graph, "main", 0, 0.8);
	assert_place(&fixture->graph, "sort", 0, 0.5);
	assert_place(&fixture->graph, "read", 0.5, 0.3);
	assert_place(&fixture->graph, "[truncated: depth]", 0.8, 0.2);
	assert_int_equal(fixture->graph.depth, 2);
	assert_int_equal(fixture->graph.truncated[0], 20);
}

static void
frames_know_where_their_code_comes_from(void **state)
{
	struct graph_fixture *fixture = *state;
	struct flame_graph *graph = &fixture->graph;

	add(fixture, 0, 30, 50, 20);
	assert_int_equal(graph->frames[find(graph, "main")->frame].origin, FLAME_PROGRAM);
	assert_int_equal(graph->frames[find(graph, "sort")->frame].origin, FLAME_LIBRARY);
	assert_int_equal(graph->frames[find(graph, "read")->frame].origin, FLAME_KERNEL);
	assert_int_equal(graph->frames[find(graph, "[truncated: depth]")->frame].origin, FLAME_TRUNCATED);
}

static void
small_frames_are_not_shown(void **state)
{
	struct graph_fixture *fixture = *state;

	add(fixture, 0, 9, 81, 10);
	assert_int_equal(flame_graph_place(&fixture->graph, 0.1), 0);
	assert_true(find(&fixture->graph, "sort")->is_shown);
	assert_true(find(&fixture->graph, "[truncated: depth]")->is_shown); /* exactly a tenth */
	assert_false(find(&fixture->graph, "read")->is_shown);
}

/* A build elsewhere: its file has the same name in another folder. */
static void
procedures_of_two_builds_are_one(void **state)
{
	struct graph_fixture *fixture = *state;

	add(fixture, 0, 30, 50, 20);
	fixture->frames[MAIN].image_title = "/home/new/program";
	add(fixture, 1, 10, 70, 20);
	assert_int_equal(fixture->graph.node_count, 5);
	assert_int_equal(find(&fixture->graph, "sort")->samples[0].count, 50);
	assert_int_equal(find(&fixture->graph, "sort")->samples[1].count, 70);
	assert_int_equal(flame_graph_place(&fixture->graph, 0), 0);
	assert_place(&fixture->graph, "read", 0.7, 0.1); /* by the second set */
}

/*
 * Fisher's test of 300 and 400 of 1,000: twice the smaller tail, added up from binomial coefficients, is 3.3717e-06;
 * Holm's adjustment multiplies the smallest of five by five.
 */
static void
only_what_differs_by_more_than_chance_is_marked(void **state)
{
	struct graph_fixture *fixture = *state;
	struct compare_scale scale = {.z = 1.96};

	add(fixture, 0, 300, 300, 400);
	add(fixture, 1, 300, 400, 300);
	assert_int_equal(flame_graph_place(&fixture->graph, 0), 0);
	assert_int_equal(flame_graph_compare(&fixture->graph, &scale, 0.05), 0);
	assert_true(find(&fixture->graph, "sort")->comparison.is_marked);
	assert_true(fabs(find(&fixture->graph, "sort")->comparison.change - 0.1) < 1e-12);
	assert_true(fabs(find(&fixture->graph, "sort")->comparison.chance - 5 * 3.3717e-06) < 1e-9);
	assert_true(find(&fixture->graph, "[truncated: depth]")->comparison.is_marked);
	assert_false(find(&fixture->graph, "read")->comparison.is_marked);
	assert_false(fixture->graph.nodes[0].comparison.is_marked);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_are_within_their_callers_the_largest_first, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_know_where_their_code_comes_from, setup, teardown),
		cmocka_unit_test_setup_teardown(small_frames_are_not_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(procedures_of_two_builds_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(only_what_differs_by_more_than_chance_is_marked, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
