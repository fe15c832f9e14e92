#include "tests/unit/test.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/frequency.h"

/* A loop of one block, and the ways in and out. */
static struct flow_graph
one_loop(struct flow_block *block, uint32_t instructions)
{
	static struct flow_edge edges[] = {
		{FLOW_OUTSIDE, 0, EDGE_ENTRY}, {0, 0, EDGE_TAKEN}, {0, FLOW_OUTSIDE, EDGE_EXIT}};
	static uint32_t outs[] = {1, 2}, ins[] = {0, 1};

	*block = (struct flow_block){.count = instructions, .out_count = 2, .in_count = 2};
	return (struct flow_graph){
		.instruction_count = instructions,
		.blocks = block,
		.block_count = 1,
		.edges = edges,
		.edge_count = 3,
		.outs = outs,
		.ins = ins,
		.is_complete = true,
	};
}

static struct frequency
frequency_of_loop(const uint64_t *samples, const double *minimum, const uint32_t *waits_for, uint32_t count)
{
	struct flow_block block;
	const struct flow_graph graph = one_loop(&block, count);
	const struct frequency_input input = {
		.graph = &graph,
		.pipeline = PIPELINE_KIND_IN_ORDER,
		.samples = samples,
		.minimum_cycles = minimum,
		.waits_for = waits_for,
		.width = 2,
	};
	struct frequencies result;
	struct frequency frequency;

	assert_int_equal(frequencies_estimate(&input, &result), 0);
	assert_false(result.is_relative);
	frequency = result.blocks[0];
	frequencies_fini(&result);
	return frequency;
}

/* Figure 2 of the paper. */
static const uint64_t figure2_samples[] = {3126, 0, 1636, 390, 1482, 0, 27766, 0, 1493, 174727, 1548, 0, 1586};
static const double figure2_minimum[] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1};
static const double figure2_cycles[] = {2, 0, 1, 0.5, 1, 0, 18, 0, 1, 114.5, 1, 0, 1};

static void
the_copy_loop_of_the_paper_ran_as_often_as_it_was_counted(void **state)
{
	const struct frequency frequency = frequency_of_loop(figure2_samples, figure2_minimum, NULL, 13);

	(void)state;
	assert_true(fabs(frequency.value - 1575.1) < 0.05 * 1575.1);
	assert_int_equal(frequency.method, FREQUENCY_CLUSTER);
	assert_int_equal(frequency.confidence, CONFIDENCE_HIGH);
}

static void
the_copy_loop_takes_the_cycles_that_the_paper_prints(void **state)
{
	const struct frequency frequency = frequency_of_loop(figure2_samples, figure2_minimum, NULL, 13);
	double sum = 0, best = 0;

	(void)state;
	for (int i = 0; i < 13; i++) {
		const double cycles = round((double)figure2_samples[i] / frequency.value * 2) / 2;

		assert_true(cycles == figure2_cycles[i]);
		sum += cycles;
		best += figure2_minimum[i];
	}
	assert_true(round(sum / 13 * 100) == 1077);
	assert_true(round(best / 13 * 100) == 62);
}

static void
few_samples_are_taken_together(void **state)
{
	const uint64_t samples[] = {1, 0, 4, 1};
	const double minimum[] = {1, 1, 1, 1};
	const struct frequency frequency = frequency_of_loop(samples, minimum, NULL, 4);

	(void)state;
	assert_true(fabs(frequency.value - 1.5) < 1e-3);
	assert_int_equal(frequency.method, FREQUENCY_SUM);
	assert_int_equal(frequency.confidence, CONFIDENCE_LOW);
}

/*
 * The third instruction waits four cycles for the first, a load; but the second stalls for 1.8 cycles, and the load is
 * nearly there meanwhile. Alone the third would have the lowest ratio, 550.
 */
static void
a_wait_that_something_else_hides_is_counted_with_it(void **state)
{
	const uint64_t samples[] = {1000, 2800, 2200, 1010};
	const double minimum[] = {1, 1, 4, 1};
	const uint32_t waits[] = {FREQUENCY_NO_WAIT, FREQUENCY_NO_WAIT, 0, FREQUENCY_NO_WAIT};
	struct frequency frequency = frequency_of_loop(samples, minimum, waits, 4);

	(void)state;
	assert_true(fabs(frequency.value - 1000) < 15);
	assert_int_equal(frequency.confidence, CONFIDENCE_HIGH);
}

static void
a_ratio_that_would_make_another_stall_for_ever_is_passed_over(void **state)
{
	const uint64_t samples[] = {100, 5000000, 100000, 101000, 5000000};
	const double minimum[] = {1, 1, 1, 1, 1};
	const struct frequency frequency = frequency_of_loop(samples, minimum, NULL, 5);

	(void)state;
	assert_true(fabs(frequency.value - 100500) < 1);
}

static void
an_instruction_that_stalls_in_every_place_is_not_well_known(void **state)
{
	const uint64_t samples[] = {5000, 700, 90000};
	const double minimum[] = {1, 1, 1};
	const struct frequency frequency = frequency_of_loop(samples, minimum, NULL, 3);

	(void)state;
	assert_true(fabs(frequency.value - 700) < 1e-3);
	assert_int_equal(frequency.confidence, CONFIDENCE_LOW);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_loop_of_the_paper_ran_as_often_as_it_was_counted),
		cmocka_unit_test(the_copy_loop_takes_the_cycles_that_the_paper_prints),
		cmocka_unit_test(few_samples_are_taken_together),
		cmocka_unit_test(a_wait_that_something_else_hides_is_counted_with_it),
		cmocka_unit_test(a_ratio_that_would_make_another_stall_for_ever_is_passed_over),
		cmocka_unit_test(an_instruction_that_stalls_in_every_place_is_not_well_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
