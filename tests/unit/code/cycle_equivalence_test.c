#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "code/cycle_equivalence.h"

/* Graphs of edges alone: nothing here looks at instructions. Classes are worked out by hand. */

#define OUT      FLOW_OUTSIDE
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct flow_graph
graph_of(struct flow_edge *edges, size_t edge_count, size_t block_count)
{
	return (struct flow_graph){.edges = edges, .edge_count = edge_count, .block_count = block_count};
}

/* "0 1 0 | 0 1 1": the classes of blocks, then of edges, are compared with `expected`. */
static void
assert_classes(struct flow_edge *edges, size_t edge_count, size_t block_count, const char *expected)
{
	const struct flow_graph graph = graph_of(edges, edge_count, block_count);
	struct cycle_equivalence equivalence;
	char text[256];
	size_t length = 0;

	assert_int_equal(cycle_equivalence_find(&graph, &equivalence), 0);
	for (size_t i = 0; i < block_count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%u ", equivalence.block_classes[i]);
	length += (size_t)snprintf(text + length, sizeof(text) - length, "|");
	for (size_t i = 0; i < edge_count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, " %u", equivalence.edge_classes[i]);
	assert_string_equal(text, expected);
	cycle_equivalence_fini(&equivalence);
}

static void
blocks_in_a_row_are_equivalent(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 0 | 0 0 0");
}

static void
what_comes_before_and_after_a_choice_is_equivalent(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 4, "0 1 2 0 | 0 1 2 1 2 0");
}

static void
a_branch_over_a_block_is_a_class_of_its_own(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {0, 2}, {1, 2}, {2, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 3, "0 1 0 | 0 1 2 1 0");
}

static void
the_head_of_a_loop_runs_more_often_than_its_body(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, 2}, {2, 1}, {1, 3}, {3, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 4, "0 1 2 0 | 0 0 2 2 0 0");
}

static void
a_block_that_goes_to_itself_is_a_class_and_so_is_its_edge(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, 1}, {1, 2}, {2, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 3, "0 1 0 | 0 0 2 0 0");
}

static void
nested_loops_are_classes_apart(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 3}, {3, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 4, "0 1 2 0 | 0 0 3 4 3 0 0");
}

static void
an_early_return_ends_equivalence(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {0, OUT}, {1, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 1 | 0 1 2 1");
}

static void
a_second_way_in_ends_equivalence(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {OUT, 1}, {0, 1}, {1, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 1 | 0 2 0 1");
}

static void
a_loop_with_two_heads_has_nothing_in_common(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {0, 2}, {1, 2}, {2, 1}, {1, 3}, {2, 3}, {3, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 4, "0 1 2 0 | 0 3 4 5 6 7 8 0");
}

static void
loops_in_a_row_are_classes_apart_and_what_joins_them_is_one(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 0}, {0, 1}, {1, 1}, {1, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 1 | 2 3 2 4 2");
}

static void
two_edges_between_the_same_blocks_are_classes_apart(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {0, 1}, {1, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 0 | 0 1 2 0");
}

static void
the_blocks_of_an_endless_loop_are_equivalent(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, 2}, {2, 1}, {2, OUT}};

	(void)state;
	assert_classes(edges, COUNT(edges), 3, "0 1 1 | 0 0 1 2 0");
}

static void
what_no_cycle_goes_through_is_a_class_of_its_own(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, 1}, {1, 1}};

	(void)state;
	assert_classes(edges, COUNT(edges), 2, "0 1 | 2 3 1");
}

static void
a_part_without_ways_in_or_out_has_classes_too(void **state)
{
	struct flow_edge edges[] = {{OUT, 0}, {0, OUT}, {1, 2}, {2, 1}};

	(void)state;
	assert_classes(edges, COUNT(edges), 3, "0 1 1 | 0 0 1 1");
}

/* Random graphs, and what is known about them by other ways. */

#define NODES_MAX 4001
#define EDGES_MAX 12000

struct sample {
	struct flow_edge edges[EDGES_MAX];
	size_t edge_count, block_count;

	/* The same without directions, blocks last: node 0 is outside, a block is two nodes. */
	uint32_t ends[EDGES_MAX][2];
	size_t all_count, node_count;
};

static uint64_t
next_random(uint64_t *seed)
{
	uint64_t value;

	*seed += UINT64_C(0x9e3779b97f4a7c15);
	value = *seed;
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

static void
sample_draw(struct sample *sample, uint64_t *seed, size_t blocks, size_t edges)
{
	memset(sample, 0, offsetof(struct sample, ends));
	sample->block_count = blocks;
	sample->node_count = 2 * blocks + 1;
	sample->edge_count = edges;
	for (size_t i = 0; i < edges; i++) {
		uint32_t from = (uint32_t)(next_random(seed) % (blocks + 1));
		uint32_t near = from + (uint32_t)(next_random(seed) % 4); /* as in code, most go nearby */
		uint32_t to = next_random(seed) % 4 ? near % (uint32_t)(blocks + 1)
		                                    : (uint32_t)(next_random(seed) % (blocks + 1));

		if (!from && !to)
			to = 1;
		sample->edges[i] = (struct flow_edge){from ? from - 1 : OUT, to ? to - 1 : OUT, EDGE_TAKEN};
		sample->ends[i][0] = from ? 2 * from : 0;
		sample->ends[i][1] = to ? 2 * to - 1 : 0;
	}
	for (size_t i = 0; i < blocks; i++) {
		sample->ends[edges + i][0] = 2 * (uint32_t)i + 1;
		sample->ends[edges + i][1] = 2 * (uint32_t)i + 2;
	}
	sample->all_count = edges + blocks;
}

static uint32_t
class_of(const struct sample *sample, const struct cycle_equivalence *equivalence, size_t i)
{
	return i < sample->edge_count ? equivalence->edge_classes[i]
	                              : equivalence->block_classes[i - sample->edge_count];
}

static uint32_t
root_of(uint32_t *parents, uint32_t node)
{
	while (parents[node] != node)
		node = parents[node] = parents[parents[node]];
	return node;
}

/* How many pieces the graph falls into without edges `a` and `b`. */
static size_t
pieces_without(const struct sample *sample, size_t a, size_t b)
{
	static uint32_t parents[NODES_MAX];
	size_t pieces = sample->node_count;

	for (uint32_t i = 0; i < sample->node_count; i++)
		parents[i] = i;
	for (size_t i = 0; i < sample->all_count; i++) {
		uint32_t from = root_of(parents, sample->ends[i][0]), to = root_of(parents, sample->ends[i][1]);

		if (i == a || i == b || from == to)
			continue;
		parents[from] = to;
		pieces--;
	}
	return pieces;
}

/* Edges are equivalent when neither is a bridge and the graph falls apart without both. */
static void
pairs_that_cut_the_graph_in_two_are_equivalent_and_no_others(void **state)
{
	static struct sample sample;
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t blocks = 1 + next_random(&seed) % 7;
		struct flow_graph graph;
		struct cycle_equivalence equivalence;
		size_t whole;

		sample_draw(&sample, &seed, blocks, 1 + next_random(&seed) % (3 * blocks));
		graph = graph_of(sample.edges, sample.edge_count, blocks);
		assert_int_equal(cycle_equivalence_find(&graph, &equivalence), 0);
		whole = pieces_without(&sample, SIZE_MAX, SIZE_MAX);
		for (size_t a = 0; a < sample.all_count; a++) {
			for (size_t b = 0; b < a; b++) {
				bool bridge =
					pieces_without(&sample, a, a) > whole || pieces_without(&sample, b, b) > whole;
				bool expected = !bridge && pieces_without(&sample, a, b) > whole;

				assert_int_equal(class_of(&sample, &equivalence, a) ==
				                         class_of(&sample, &equivalence, b),
				                 expected);
			}
		}
		cycle_equivalence_fini(&equivalence);
	}
}

/*
 * Circulations with random values: edges beside a spanning tree have one each, a tree edge the sum (exclusive or) of
 * those around it. Edges with equal values are equivalent; 0 is a bridge.
 */
static void
labels_draw(const struct sample *sample, uint64_t *seed, uint64_t *labels)
{
	static uint64_t sums[NODES_MAX];
	static uint32_t parents[NODES_MAX], degrees[NODES_MAX], queue[NODES_MAX];
	static bool in_tree[EDGES_MAX];
	size_t head = 0, tail = 0;

	memset(sums, 0, sizeof(sums));
	memset(degrees, 0, sizeof(degrees));
	for (uint32_t i = 0; i < sample->node_count; i++)
		parents[i] = i;
	for (size_t i = 0; i < sample->all_count; i++) {
		uint32_t from = root_of(parents, sample->ends[i][0]), to = root_of(parents, sample->ends[i][1]);

		in_tree[i] = from != to;
		labels[i] = in_tree[i] ? 0 : next_random(seed);
		if (in_tree[i]) {
			parents[from] = to;
			degrees[sample->ends[i][0]]++;
			degrees[sample->ends[i][1]]++;
		} else {
			sums[sample->ends[i][0]] ^= labels[i];
			sums[sample->ends[i][1]] ^= labels[i];
		}
	}
	for (uint32_t i = 0; i < sample->node_count; i++) {
		if (degrees[i] == 1)
			queue[tail++] = i;
	}
	/* a leaf's only edge of the tree has the sum of its others; without it, another node becomes a leaf */
	while (head < tail) {
		uint32_t leaf = queue[head++];

		for (size_t i = 0; i < sample->all_count && degrees[leaf] == 1; i++) {
			uint32_t other = sample->ends[i][0] == leaf ? sample->ends[i][1] : sample->ends[i][0];

			if (!in_tree[i] || (sample->ends[i][0] != leaf && sample->ends[i][1] != leaf))
				continue;
			in_tree[i] = false;
			labels[i] = sums[leaf];
			sums[other] ^= sums[leaf];
			degrees[leaf]--;
			if (--degrees[other] == 1)
				queue[tail++] = other;
		}
	}
}

static void
assert_labelled(const struct sample *sample, const uint64_t *labels)
{
	const struct flow_graph graph =
		graph_of((struct flow_edge *)sample->edges, sample->edge_count, sample->block_count);
	struct cycle_equivalence equivalence;

	assert_int_equal(cycle_equivalence_find(&graph, &equivalence), 0);
	for (size_t a = 0; a < sample->all_count; a++) {
		assert_true(class_of(sample, &equivalence, a) < equivalence.class_count);
		for (size_t b = 0; b < a; b++)
			assert_int_equal(class_of(sample, &equivalence, a) == class_of(sample, &equivalence, b),
			                 labels[a] && labels[a] == labels[b]);
	}
	cycle_equivalence_fini(&equivalence);
}

static void
classes_are_those_of_random_circulations(void **state)
{
	static struct sample sample;
	static uint64_t labels[EDGES_MAX];
	uint64_t seed = 2;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		size_t blocks = 1 + next_random(&seed) % 60;

		sample_draw(&sample, &seed, blocks, 1 + next_random(&seed) % (2 * blocks));
		labels_draw(&sample, &seed, labels);
		assert_labelled(&sample, labels);
	}
	for (int round = 0; round < 3; round++) {
		sample_draw(&sample, &seed, 1000, 1700);
		labels_draw(&sample, &seed, labels);
		assert_labelled(&sample, labels);
	}
}

/* A chain as deep as it is long: recursion would not come back from it. */
static void
graphs_may_be_a_million_blocks_deep(void **state)
{
	const size_t count = 1000000;
	struct flow_edge *edges = calloc(2 * count, sizeof(*edges));
	const struct flow_graph graph = graph_of(edges, 2 * count, count);
	struct cycle_equivalence equivalence;

	(void)state;
	assert_non_null(edges);
	for (uint32_t i = 0; i < count; i++) {
		edges[2 * i] = (struct flow_edge){i ? i - 1 : OUT, i, EDGE_FALL};
		edges[2 * i + 1] =
			(struct flow_edge){i, i + 1 < count ? i : OUT, EDGE_TAKEN}; /* each but the last to itself */
	}
	assert_int_equal(cycle_equivalence_find(&graph, &equivalence), 0);
	assert_int_equal(equivalence.class_count,
	                 2 * count - 1); /* a loop and its block each, the last with the chain */
	assert_int_equal(equivalence.edge_classes[2], equivalence.block_classes[count - 1]);
	cycle_equivalence_fini(&equivalence);
	free(edges);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_in_a_row_are_equivalent),
		cmocka_unit_test(what_comes_before_and_after_a_choice_is_equivalent),
		cmocka_unit_test(a_branch_over_a_block_is_a_class_of_its_own),
		cmocka_unit_test(the_head_of_a_loop_runs_more_often_than_its_body),
		cmocka_unit_test(a_block_that_goes_to_itself_is_a_class_and_so_is_its_edge),
		cmocka_unit_test(nested_loops_are_classes_apart),
		cmocka_unit_test(an_early_return_ends_equivalence),
		cmocka_unit_test(a_second_way_in_ends_equivalence),
		cmocka_unit_test(a_loop_with_two_heads_has_nothing_in_common),
		cmocka_unit_test(loops_in_a_row_are_classes_apart_and_what_joins_them_is_one),
		cmocka_unit_test(two_edges_between_the_same_blocks_are_classes_apart),
		cmocka_unit_test(the_blocks_of_an_endless_loop_are_equivalent),
		cmocka_unit_test(what_no_cycle_goes_through_is_a_class_of_its_own),
		cmocka_unit_test(a_part_without_ways_in_or_out_has_classes_too),
		cmocka_unit_test(pairs_that_cut_the_graph_in_two_are_equivalent_and_no_others),
		cmocka_unit_test(classes_are_those_of_random_circulations),
		cmocka_unit_test(graphs_may_be_a_million_blocks_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
