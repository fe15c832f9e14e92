/* The errors of estimated frequencies in generated procedures, by source, and what an estimate costs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/frequency.h"
#include "tests/generated_program.h"

#define LIMITS 5

static const double limits[LIMITS] = {0.05, 0.10, 0.15, 0.25, 0.50};

struct setting {
	const char *name;
	bool is_out_of_order, has_bursts, has_retired;
};

struct frequency_score {
	double blocks[LIMITS], edges[LIMITS];
	double samples, executions;
};

static double
now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double *
minimum_of(const struct generated_program *program)
{
	double *minimum = calloc(program->graph.instruction_count, sizeof(*minimum));

	for (size_t i = 0; minimum && i < program->graph.instruction_count; i++)
		minimum[i] = program->code[i].minimum;
	return minimum;
}

static double
procedure_block_samples(const struct generated_program *program, size_t block)
{
	const struct flow_block *at = &program->graph.blocks[block];
	double sum = 0;

	for (uint32_t i = 0; i < at->count; i++)
		sum += (double)program->samples[at->first + i];
	return sum;
}

static int
estimate(const struct generated_program *program, const struct setting *setting, const double *minimum,
         struct frequencies *result)
{
	const struct frequency_input input = {
		.graph = &program->graph,
		.pipeline = setting->is_out_of_order ? PIPELINE_KIND_OUT_OF_ORDER : PIPELINE_KIND_IN_ORDER,
		.block_classes = program->equivalence.block_classes,
		.edge_classes = program->equivalence.edge_classes,
		.class_count = program->equivalence.class_count,
		.samples = program->samples,
		.cycles_per_sample = program->period,
		.skid = setting->is_out_of_order ? 1 : 0,
		.minimum_cycles = minimum,
		.width = setting->is_out_of_order ? 4 : 2,
		.bursts = setting->has_bursts ? program->burst_edges : NULL,
		.retired = setting->has_retired ? program->retired : NULL,
		.instructions_per_sample = GENERATED_RETIRED_PERIOD,
	};

	return frequencies_estimate(&input, result);
}

/* What is only relative is scaled so that the sum of all block executions is right. */
static double
scale_of(const struct generated_program *program, const struct frequencies *result)
{
	double truth = 0, sum = 0;

	for (size_t i = 0; i < program->graph.block_count && result->is_relative; i++) {
		truth += (double)program->block_counts[i] / program->period;
		sum += result->blocks[i].value;
	}
	return sum > 0 ? truth / sum : 1;
}

static void
score(const struct generated_program *program, const struct frequencies *result, struct frequency_score *score)
{
	const double scale = scale_of(program, result);

	for (size_t i = 0; i < program->graph.block_count; i++) {
		const double truth = (double)program->block_counts[i] / program->period;
		const double samples = procedure_block_samples(program, i);

		score->samples += samples;
		for (int k = 0; k < LIMITS; k++)
			if (fabs(result->blocks[i].value * scale - truth) <= limits[k] * truth)
				score->blocks[k] += samples;
	}
	for (size_t i = 0; i < program->graph.edge_count; i++) {
		const double executions = (double)program->edge_counts[i], truth = executions / program->period;

		score->executions += executions;
		for (int k = 0; k < LIMITS; k++)
			if (fabs(result->edges[i].value * scale - truth) <= limits[k] * truth)
				score->edges[k] += executions;
	}
}

static void
print_score(const struct setting *setting, const struct frequency_score *score)
{
	printf("%-26s blocks", setting->name);
	for (int k = 0; k < LIMITS; k++)
		printf(" %5.1f", 100 * score->blocks[k] / score->samples);
	printf("   edges");
	for (int k = 0; k < LIMITS; k++)
		printf(" %5.1f", 100 * score->edges[k] / score->executions);
	printf("\n");
}

static int
run_setting(const struct setting *setting, uint64_t programs, uint64_t samples)
{
	struct frequency_score total = {0};

	for (uint64_t seed = 1; seed <= programs; seed++) {
		struct generated_program program = generated_program_make(seed, 3);
		double *minimum = minimum_of(&program);
		struct frequencies result;

		generated_program_run(&program, samples, 37, setting->is_out_of_order,
		                      setting->is_out_of_order ? 1 : 0);
		if (!minimum || estimate(&program, setting, minimum, &result))
			return 1;
		score(&program, &result, &total);
		frequencies_fini(&result);
		free(minimum);
		generated_program_free(&program);
	}
	print_score(setting, &total);
	return 0;
}

static int
run_large(const struct setting *setting, uint64_t seed)
{
	struct generated_program program = generated_program_make(seed, 6);
	double *minimum = minimum_of(&program);
	struct frequencies result;
	double begin;

	generated_program_run(&program, 200000, 37, setting->is_out_of_order, setting->is_out_of_order ? 1 : 0);
	begin = now_seconds();
	if (!minimum || estimate(&program, setting, minimum, &result))
		return 1;
	printf("%-26s %zu instructions, %zu blocks, %zu edges: %.1f ms\n", setting->name,
	       program.graph.instruction_count, program.graph.block_count, program.graph.edge_count,
	       (now_seconds() - begin) * 1e3);
	frequencies_fini(&result);
	free(minimum);
	generated_program_free(&program);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct setting settings[] = {
		{"in order", false, false, false},
		{"out of order", true, false, false},
		{"out of order, bursts", true, true, false},
		{"out of order, instructions", true, false, true},
	};
	const uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
	const uint64_t samples = argc > 2 ? strtoull(argv[2], NULL, 10) : 60000;

	printf("%% of samples and of edge executions within 5/10/15/25/50 %%: %llu procedures, %llu samples each\n",
	       (unsigned long long)programs, (unsigned long long)samples);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (run_setting(&settings[i], programs, samples))
			return 1;
	for (uint64_t seed = 1; seed <= 3; seed++)
		for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
			if (run_large(&settings[i], seed))
				return 1;
	return 0;
}
