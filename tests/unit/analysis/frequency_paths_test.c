#include "tests/unit/test.h"

#include <math.h>

#include "analysis/frequency_internal.h"

/*
 * Two loops, one after the other: 0 enters, 1 repeats itself, 2 repeats itself, 3 leaves. Two instructions each. edges:
 * 0 in->0, 1 0->1, 2 1->1, 3 1->2, 4 2->2, 5 2->3, 6 3->out
 */
static struct flow_block blocks[] = {
	{.first = 0, .count = 2, .out = 0, .out_count = 1, .in = 0, .in_count = 1},
	{.first = 2, .count = 2, .out = 1, .out_count = 2, .in = 1, .in_count = 2},
	{.first = 4, .count = 2, .out = 3, .out_count = 2, .in = 3, .in_count = 2},
	{.first = 6, .count = 2, .out = 5, .out_count = 1, .in = 5, .in_count = 1},
};
static struct flow_edge edges[] = {
	{FLOW_OUTSIDE, 0, EDGE_ENTRY},
	{0, 1, EDGE_FALL},
	{1, 1, EDGE_TAKEN},
	{1, 2, EDGE_FALL},
	{2, 2, EDGE_TAKEN},
	{2, 3, EDGE_FALL},
	{3, FLOW_OUTSIDE, EDGE_EXIT},
};
static uint32_t outs[] = {1, 2, 3, 4, 5, 6};
static uint32_t ins[] = {0, 1, 2, 3, 4, 5};
static const struct flow_graph graph = {
	.instruction_count = 8,
	.blocks = blocks,
	.block_count = 4,
	.edges = edges,
	.edge_count = 7,
	.outs = outs,
	.ins = ins,
	.is_complete = true,
};

struct chain_scene {
	struct frequency_chain chain;
	double shares[4], uncertainties[4];
};

static void
solve(struct chain_scene *scene, const uint64_t *seen, const double *starts)
{
	assert_int_equal(frequency_chain_init(&scene->chain, &graph, seen), 0);
	for (size_t i = 0; i < 4 && starts; i++)
		scene->chain.starts[i] = starts[i];
	frequency_chain_weigh(&scene->chain);
	assert_int_equal(frequency_chain_solve(&scene->chain, scene->shares), 0);
	assert_int_equal(frequency_chain_uncertainty(&scene->chain, scene->shares, scene->uncertainties), 0);
}

static double
ratio(const struct chain_scene *scene)
{
	return scene->shares[1] / scene->shares[2];
}

static void
what_was_often_seen_is_as_it_was_seen(void **state)
{
	const uint64_t seen[] = {100000, 100000, 900000, 100000, 300000, 100000, 100000};
	struct chain_scene scene;

	(void)state;
	solve(&scene, seen, NULL);
	assert_true(fabs(scene.shares[1] / scene.shares[0] - 10) < 0.01);
	assert_true(fabs(scene.shares[2] / scene.shares[0] - 4) < 0.01);
	assert_true(scene.uncertainties[1] < 0.03);
	frequency_chain_fini(&scene.chain);
}

/* Each loop was seen for itself, the way between them never: the time spent in them is what is left. */
static void
loops_without_a_way_seen_between_them_are_compared_by_their_samples(void **state)
{
	const uint64_t seen[] = {0, 0, 5000000, 0, 5000000, 0, 0};
	const double starts[] = {0, 9000, 1000, 0};
	struct chain_scene scene;

	(void)state;
	solve(&scene, seen, starts);
	assert_true(ratio(&scene) > 1.5 && ratio(&scene) < 9);
	assert_true(scene.uncertainties[1] > 0.2 || scene.uncertainties[2] > 0.2);
	frequency_chain_fini(&scene.chain);
}

/* Where it was seen often, samples have nothing to say: one of the loops may be slow. */
static void
samples_do_not_matter_where_the_way_was_seen(void **state)
{
	const uint64_t seen[] = {0, 50000, 500000, 50000, 500000, 50000, 50000};
	const double starts[] = {0, 100, 100000, 0};
	struct chain_scene scene;

	(void)state;
	solve(&scene, seen, starts);
	assert_true(fabs(ratio(&scene) - 1) < 0.02);
	frequency_chain_fini(&scene.chain);
}

/* 4 of 20, and 4000 of 20000: both are a fifth, and the second is known better. */
static void
doubt_falls_with_what_was_seen(void **state)
{
	const uint64_t few[] = {4, 4, 16, 4, 16, 4, 4}, many[] = {4000, 4000, 16000, 4000, 16000, 4000, 4000};
	const double starts[] = {1, 5, 5, 1};
	struct chain_scene scene;
	double doubt;

	(void)state;
	solve(&scene, few, starts);
	doubt = scene.uncertainties[0];
	assert_true(doubt > 0.15);
	frequency_chain_fini(&scene.chain);
	solve(&scene, many, starts);
	assert_true(scene.uncertainties[0] < doubt / 4);
	frequency_chain_fini(&scene.chain);
}

/* Disturbed by a generator of random numbers that begins anew each time. */
static void
doubt_is_the_same_each_time(void **state)
{
	const uint64_t seen[] = {4, 4, 16, 4, 16, 4, 4};
	const double starts[] = {1, 5, 5, 1};
	struct chain_scene one, other;

	(void)state;
	solve(&one, seen, starts);
	solve(&other, seen, starts);
	assert_memory_equal(one.uncertainties, other.uncertainties, sizeof(one.uncertainties));
	frequency_chain_fini(&one.chain);
	frequency_chain_fini(&other.chain);
}

static void
the_chain_is_as_it_was_after_it_was_doubted(void **state)
{
	const uint64_t seen[] = {4, 4, 16, 4, 16, 4, 4};
	const double starts[] = {1, 5, 5, 1};
	double again[4];
	struct chain_scene scene;

	(void)state;
	solve(&scene, seen, starts);
	assert_int_equal(frequency_chain_solve(&scene.chain, again), 0);
	assert_memory_equal(again, scene.shares, sizeof(again));
	frequency_chain_fini(&scene.chain);
}

/* The most likely probability of a way that was taken 0 of 4 times, by samples 1 in 100: nearly unchanged. */
static void
a_way_that_was_not_taken_is_as_rare_as_samples_say(void **state)
{
	const uint64_t seen[] = {0, 0, 4, 0, 0, 0, 0};
	struct frequency_chain chain;

	(void)state;
	assert_int_equal(frequency_chain_init(&chain, &graph, seen), 0);
	chain.prior[2] = 99;
	chain.prior[3] = 1;
	frequency_chain_weigh(&chain);
	/* 4 p = -(log p - log 0.01) / 4: p = 0.00870 */
	assert_true(fabs(chain.weights[3] - 0.00870) < 0.00002);
	frequency_chain_fini(&chain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_often_seen_is_as_it_was_seen),
		cmocka_unit_test(loops_without_a_way_seen_between_them_are_compared_by_their_samples),
		cmocka_unit_test(samples_do_not_matter_where_the_way_was_seen),
		cmocka_unit_test(doubt_falls_with_what_was_seen),
		cmocka_unit_test(doubt_is_the_same_each_time),
		cmocka_unit_test(the_chain_is_as_it_was_after_it_was_doubted),
		cmocka_unit_test(a_way_that_was_not_taken_is_as_rare_as_samples_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
