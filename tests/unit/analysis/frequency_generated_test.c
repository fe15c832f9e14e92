/* Procedures whose frequencies are known, since they ran in a simulation: what samples of them say. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/frequency.h"
#include "tests/generated_program.h"

#define PROGRAMS 40
#define LIMITS   4

static const double limits[LIMITS] = {0.05, 0.10, 0.15, 0.50};

/* Shares of all samples (blocks) or executions (edges) that are within each limit, by confidence. */
struct generated_score {
	double within[CONFIDENCE_EXACT + 1][LIMITS];
	double all[CONFIDENCE_EXACT + 1];
};

struct generated_scores {
	struct generated_score blocks, edges;
};

static double
share(const struct generated_score *score, int limit)
{
	double within = 0, all = 0;

	for (int i = 0; i <= CONFIDENCE_EXACT; i++) {
		within += score->within[i][limit];
		all += score->all[i];
	}
	return within / all;
}

static double
share_of(const struct generated_score *score, enum frequency_confidence confidence, int limit)
{
	return score->within[confidence][limit] / score->all[confidence];
}

static void
score_one(struct generated_score *score, const struct frequency *frequency, double truth, double scale, double weight)
{
	score->all[frequency->confidence] += weight;
	for (int i = 0; i < LIMITS; i++)
		if (fabs(frequency->value * scale - truth) <= limits[i] * truth)
			score->within[frequency->confidence][i] += weight;
}

static double
samples_of(const struct generated_program *program, const struct flow_block *block)
{
	double sum = 0;

	for (uint32_t i = 0; i < block->count; i++)
		sum += (double)program->samples[block->first + i];
	return sum;
}

static double
samples_near(const struct generated_program *program, const struct frequencies *result, double scale)
{
	double sum = 0;

	for (size_t i = 0; i < program->graph.block_count; i++) {
		const double truth = (double)program->block_counts[i] / program->period;

		if (fabs(result->blocks[i].value * scale - truth) <= 0.1 * truth)
			sum += samples_of(program, &program->graph.blocks[i]);
	}
	return sum;
}

/* The one scale that brings the most samples near the truth: what is asked is how right values are to one another. */
static double
best_scale(const struct generated_program *program, const struct frequencies *result)
{
	double best = 1, most = -1;

	for (size_t i = 0; i < program->graph.block_count; i++) {
		const double scale = (double)program->block_counts[i] / program->period / result->blocks[i].value;
		const double near = isfinite(scale) && scale > 0 ? samples_near(program, result, scale) : -1;

		if (near <= most)
			continue;
		most = near;
		best = scale;
	}
	return best;
}

static void
score_program(const struct generated_program *program, const struct frequencies *result,
              struct generated_scores *scores)
{
	const struct flow_graph *graph = &program->graph;
	const double scale = result->is_relative ? best_scale(program, result) : 1;
	double samples = 0, executions = 0;

	for (size_t i = 0; i < graph->block_count; i++)
		samples += samples_of(program, &graph->blocks[i]);
	for (size_t i = 0; i < graph->edge_count; i++)
		executions += (double)program->edge_counts[i];
	for (size_t i = 0; i < graph->block_count; i++)
		score_one(&scores->blocks, &result->blocks[i], (double)program->block_counts[i] / program->period,
		          scale, samples_of(program, &graph->blocks[i]) / samples);
	for (size_t i = 0; i < graph->edge_count; i++)
		score_one(&scores->edges, &result->edges[i], (double)program->edge_counts[i] / program->period, scale,
		          (double)program->edge_counts[i] / executions);
}

enum generated_source { SOURCE_SAMPLES, SOURCE_BURSTS, SOURCE_RETIRED };

static struct generated_scores
score_programs(enum pipeline_kind pipeline, enum generated_source source, uint64_t samples)
{
	const bool is_late = pipeline == PIPELINE_KIND_OUT_OF_ORDER;
	struct generated_scores scores = {0};

	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct generated_program program = generated_program_make(seed, 3);
		double *minimum = calloc(program.graph.instruction_count, sizeof(*minimum));
		struct frequencies result;

		assert_non_null(minimum);
		for (size_t i = 0; i < program.graph.instruction_count; i++)
			minimum[i] = program.code[i].minimum;
		generated_program_run(&program, samples, 37, is_late, is_late ? 1 : 0);
		const struct frequency_input input = {
			.graph = &program.graph,
			.pipeline = pipeline,
			.block_classes = program.equivalence.block_classes,
			.edge_classes = program.equivalence.edge_classes,
			.class_count = program.equivalence.class_count,
			.samples = program.samples,
			.cycles_per_sample = program.period,
			.skid = is_late ? 1 : 0,
			.minimum_cycles = minimum,
			.width = is_late ? 4 : 2,
			.bursts = source == SOURCE_BURSTS ? program.burst_edges : NULL,
			.retired = source == SOURCE_RETIRED ? program.retired : NULL,
			.instructions_per_sample = GENERATED_RETIRED_PERIOD,
		};
		assert_int_equal(frequencies_estimate(&input, &result), 0);
		score_program(&program, &result, &scores);
		frequencies_fini(&result);
		free(minimum);
		generated_program_free(&program);
	}
	return scores;
}

static void
in_order_samples_are_as_near_the_truth_as_they_must_be(void **state)
{
	const struct generated_scores scores = score_programs(PIPELINE_KIND_IN_ORDER, SOURCE_SAMPLES, 60000);

	(void)state;
	assert_true(share(&scores.blocks, 0) >= 0.80);
	assert_true(share(&scores.blocks, 1) >= 0.90);
	assert_true(share(&scores.blocks, 2) >= 0.95);
	assert_true(share(&scores.edges, 1) >= 0.65);
}

static void
in_order_confidence_is_honest(void **state)
{
	const struct generated_scores scores = score_programs(PIPELINE_KIND_IN_ORDER, SOURCE_SAMPLES, 10000);

	(void)state;
	assert_true(share_of(&scores.blocks, CONFIDENCE_HIGH, 2) >= 0.80);
	assert_true(share_of(&scores.edges, CONFIDENCE_HIGH, 2) >= 0.80);
	assert_true(share_of(&scores.blocks, CONFIDENCE_MEDIUM, 2) >= 0.60);
	assert_true(share_of(&scores.edges, CONFIDENCE_MEDIUM, 2) >= 0.60);
	assert_true(scores.blocks.all[CONFIDENCE_HIGH] > 0.5 * PROGRAMS);
}

/* Samples say little there, and that is what is said: less than a third is called anything but low. */
static void
out_of_order_samples_are_right_relative_to_one_another(void **state)
{
	const struct generated_scores scores = score_programs(PIPELINE_KIND_OUT_OF_ORDER, SOURCE_SAMPLES, 20000);

	(void)state;
	assert_true(share(&scores.blocks, 1) >= 0.40);
	assert_true(share(&scores.blocks, 3) >= 0.65);
	assert_true(share(&scores.edges, 3) >= 0.60);
	assert_true(share_of(&scores.blocks, CONFIDENCE_MEDIUM, 2) >= 0.60);
	assert_true(share_of(&scores.blocks, CONFIDENCE_HIGH, 2) >= 0.80);
	assert_true(scores.blocks.all[CONFIDENCE_HIGH] + scores.blocks.all[CONFIDENCE_MEDIUM] < 0.33 * PROGRAMS);
}

static void
bursts_say_more_than_samples(void **state)
{
	const struct generated_scores scores = score_programs(PIPELINE_KIND_OUT_OF_ORDER, SOURCE_BURSTS, 20000);

	(void)state;
	assert_true(share(&scores.blocks, 1) >= 0.58);
	assert_true(share(&scores.blocks, 3) >= 0.90);
	assert_true(share_of(&scores.blocks, CONFIDENCE_HIGH, 2) >= 0.80);
	assert_true(share_of(&scores.blocks, CONFIDENCE_MEDIUM, 2) >= 0.60);
}

static void
samples_of_instructions_are_frequencies_themselves(void **state)
{
	const struct generated_scores scores = score_programs(PIPELINE_KIND_OUT_OF_ORDER, SOURCE_RETIRED, 20000);

	(void)state;
	assert_true(share(&scores.blocks, 1) >= 0.90);
	assert_true(share(&scores.edges, 1) >= 0.80);
	assert_true(share_of(&scores.blocks, CONFIDENCE_HIGH, 2) >= 0.95);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_samples_are_as_near_the_truth_as_they_must_be),
		cmocka_unit_test(in_order_confidence_is_honest),
		cmocka_unit_test(out_of_order_samples_are_right_relative_to_one_another),
		cmocka_unit_test(bursts_say_more_than_samples),
		cmocka_unit_test(samples_of_instructions_are_frequencies_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
