#include "analysis/frequency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_internal.h"
#include "analysis/statistics.h"

#define WIDTH         4.0    /* where the input has none */
#define LONGEST_STALL 2000.0 /* cycles */

/* Samples of `instructions` in a class; measured in a simulation: docs/analysis.md. */
#define RETIRED_HIGH   150 /* a standard deviation of 8 % */
#define RETIRED_MEDIUM 40

const char *
frequency_method_name(unsigned method)
{
	static const char *const names[] = {
		[FREQUENCY_UNKNOWN] = "unknown", [FREQUENCY_COUNTED] = "counted", [FREQUENCY_BRANCHES] = "branches",
		[FREQUENCY_BURSTS] = "bursts",   [FREQUENCY_RETIRED] = "retired", [FREQUENCY_CLUSTER] = "cluster",
		[FREQUENCY_SUM] = "sum",         [FREQUENCY_FIT] = "fit",         [FREQUENCY_PROPAGATED] = "propagated",
	};

	return method < sizeof(names) / sizeof(names[0]) ? names[method] : "?";
}

const char *
frequency_confidence_name(unsigned confidence)
{
	static const char *const names[] = {"none", "low", "medium", "high", "exact"};

	return confidence < sizeof(names) / sizeof(names[0]) ? names[confidence] : "?";
}

static bool
is_block_or_outside(const struct flow_graph *graph, uint32_t block)
{
	return block == FLOW_OUTSIDE || block < graph->block_count;
}

static bool
lists_are_valid(const struct flow_graph *graph, const struct flow_block *block)
{
	if (block->count == 0 || block->first > graph->instruction_count ||
	    block->count > graph->instruction_count - block->first)
		return false;
	if (block->out > graph->edge_count || block->out_count > graph->edge_count - block->out ||
	    block->in > graph->edge_count || block->in_count > graph->edge_count - block->in)
		return false;
	for (uint32_t i = 0; i < block->out_count; i++)
		if (graph->outs[block->out + i] >= graph->edge_count)
			return false;
	for (uint32_t i = 0; i < block->in_count; i++)
		if (graph->ins[block->in + i] >= graph->edge_count)
			return false;
	return true;
}

static bool
graph_is_valid(const struct flow_graph *graph)
{
	if (graph->block_count > INT32_MAX || graph->edge_count > INT32_MAX)
		return false;
	for (size_t i = 0; i < graph->block_count; i++)
		if (!lists_are_valid(graph, &graph->blocks[i]))
			return false;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (!is_block_or_outside(graph, edge->from) || !is_block_or_outside(graph, edge->to) ||
		    (edge->from == FLOW_OUTSIDE && edge->to == FLOW_OUTSIDE))
			return false;
	}
	return true;
}

static bool
classes_are_valid(const struct frequency_input *input)
{
	const struct flow_graph *graph = input->graph;

	if (!input->block_classes || !input->edge_classes)
		return true;
	if (input->class_count > INT32_MAX)
		return false;
	for (size_t i = 0; i < graph->block_count; i++)
		if (input->block_classes[i] >= input->class_count)
			return false;
	for (size_t i = 0; i < graph->edge_count; i++)
		if (input->edge_classes[i] >= input->class_count)
			return false;
	return true;
}

/* Where the graph has gaps, nothing is known to run as often as something else. */
static void
set_classes(struct frequency_estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const struct flow_graph *graph = estimation->graph;
	const bool is_given = input->block_classes && input->edge_classes && graph->is_complete;

	estimation->class_count = is_given ? input->class_count : graph->block_count + graph->edge_count;
	for (size_t i = 0; i < graph->block_count; i++)
		estimation->block_classes[i] = is_given ? input->block_classes[i] : (uint32_t)i;
	for (size_t i = 0; i < graph->edge_count; i++)
		estimation->edge_classes[i] = is_given ? input->edge_classes[i] : (uint32_t)(graph->block_count + i);
}

static int
estimation_init(struct frequency_estimation *estimation, const struct frequency_input *input,
                struct frequencies *result)
{
	const struct flow_graph *graph = input->graph;

	*estimation = (struct frequency_estimation){.input = input, .graph = graph, .result = result};
	estimation->width = isfinite(input->width) && input->width > 0 ? input->width : WIDTH;
	estimation->longest_stall = input->longest_stall > 0 ? input->longest_stall : LONGEST_STALL;
	estimation->minimum = workspace_array(&estimation->space, graph->instruction_count, sizeof(double));
	estimation->block_classes = workspace_array(&estimation->space, graph->block_count, sizeof(uint32_t));
	estimation->edge_classes = workspace_array(&estimation->space, graph->edge_count, sizeof(uint32_t));
	result->blocks = calloc(graph->block_count + 1, sizeof(*result->blocks));
	result->edges = calloc(graph->edge_count + 1, sizeof(*result->edges));
	result->samples = calloc(graph->instruction_count + 1, sizeof(double));
	if (estimation->space.has_failed || !result->blocks || !result->edges || !result->samples)
		return -ENOMEM;
	for (size_t i = 0; i < graph->instruction_count; i++) {
		const double minimum = input->minimum_cycles ? input->minimum_cycles[i] : 1 / estimation->width;

		estimation->minimum[i] = isfinite(minimum) && minimum > 0 ? minimum : 0;
		result->samples[i] = (double)input->samples[i];
	}
	set_classes(estimation);
	return 0;
}

/* Scales: what a relative frequency is worth in samples. */

static void
multiply_result(struct frequency_estimation *estimation, double factor)
{
	struct frequencies *result = estimation->result;

	for (size_t i = 0; i < estimation->graph->block_count; i++)
		result->blocks[i].value *= factor;
	for (size_t i = 0; i < estimation->graph->edge_count; i++)
		result->edges[i].value *= factor;
}

/*
 * The factor by which values of the result are too low: half of the samples are in blocks that the estimates, or, when
 * they are NULL, costs that explain the samples, put above that. 0, or -ENOMEM.
 */
static int
find_scale_factor(const struct frequency_estimation *estimation, const double *estimates, double *factor)
{
	const struct flow_graph *graph = estimation->graph;
	struct weighted_value *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	size_t count = 0;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const double value = estimation->result->blocks[i].value;
		const double sum = frequency_block_sum(block, estimation->result->samples);
		const double cost = value * frequency_typical_cost(estimation, block);

		if (!(value > 0))
			continue;
		if (!estimates)
			ratios[count++] = (struct weighted_value){sum / cost, cost};
		else if (estimates[i] > 0)
			ratios[count++] = (struct weighted_value){estimates[i] / value, sum};
	}
	*factor = statistics_weighted_median(ratios, count);
	free(ratios);
	return 0;
}

/*
 * Scale the result by its samples, where no period says what a value is worth: to where costs explain the samples with
 * the least sum of absolute deviations. 0, or -ENOMEM.
 */
static int
scale_to_samples(struct frequency_estimation *estimation)
{
	double factor;
	int err = find_scale_factor(estimation, NULL, &factor);

	if (err)
		return err;
	estimation->result->is_relative = true;
	if (isfinite(factor) && factor > 0)
		multiply_result(estimation, factor);
	return 0;
}

int
frequency_scale_to_estimates(struct frequency_estimation *estimation, const double *estimates)
{
	double factor;
	int err = find_scale_factor(estimation, estimates, &factor);

	if (err)
		return err;
	if (factor <= 0 || !isfinite(factor))
		return scale_to_samples(estimation);
	multiply_result(estimation, factor);
	estimation->result->is_relative = estimation->input->pipeline != PIPELINE_KIND_IN_ORDER;
	return 0;
}

/* Exact counts, and samples of retired instructions. */

static bool
any_count(const uint64_t *counts, size_t count)
{
	for (size_t i = 0; counts && i < count; i++)
		if (counts[i] > 0)
			return true;
	return false;
}

static void
set_counts(struct frequency *to, const uint64_t *counts, size_t count, double unit)
{
	for (size_t i = 0; counts && i < count; i++)
		to[i] = (struct frequency){(double)counts[i] / unit, CONFIDENCE_EXACT, FREQUENCY_COUNTED};
}

static int
estimate_counted(struct frequency_estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const struct flow_graph *graph = estimation->graph;
	const double unit = input->executions_per_unit > 0 ? input->executions_per_unit : 1;
	int err;

	if (!any_count(input->block_counts, graph->block_count) && !any_count(input->edge_counts, graph->edge_count))
		return 0;
	set_counts(estimation->result->blocks, input->block_counts, graph->block_count, unit);
	set_counts(estimation->result->edges, input->edge_counts, graph->edge_count, unit);
	err = frequency_complete(estimation, NULL);
	return err || input->executions_per_unit > 0 ? err : scale_to_samples(estimation);
}

static uint8_t
retired_confidence(double samples)
{
	if (samples >= RETIRED_HIGH)
		return CONFIDENCE_HIGH;
	return samples >= RETIRED_MEDIUM ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

/*
 * A sample may lie some instructions late: what is lost at a block's end comes in at its head, if they run equally
 * often. Counts deviate as Poisson has it, to both sides.
 */
static int
estimate_retired_classes(struct frequency_estimation *estimation, double unit, double *deviations)
{
	const struct flow_graph *graph = estimation->graph;
	struct class_count {
		double samples, instructions;
	} *classes = calloc(estimation->class_count + 1, sizeof(*classes));

	if (!classes)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		struct class_count *class = &classes[estimation->block_classes[i]];

		class->instructions += block->count;
		for (size_t k = 0; k < block->count; k++)
			class->samples += (double)estimation->input->retired[block->first + k];
	}
	for (size_t i = 0; i < graph->block_count + graph->edge_count; i++) {
		const bool is_edge = i >= graph->block_count;
		const size_t at = is_edge ? i - graph->block_count : i;
		const struct class_count *class =
			&classes[is_edge ? estimation->edge_classes[at] : estimation->block_classes[at]];

		if (!is_edge)
			deviations[at] = sqrt(fmax(class->samples, 1)) / fmax(class->instructions, 1) * unit;
		if (class->instructions > 0)
			*(is_edge ? &estimation->result->edges[at] : &estimation->result->blocks[at]) =
				(struct frequency){class->samples / class->instructions * unit,
			                           retired_confidence(class->samples), FREQUENCY_RETIRED};
	}
	free(classes);
	return 0;
}

static int
estimate_retired(struct frequency_estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const bool is_absolute = input->instructions_per_sample > 0 && input->cycles_per_sample > 0;
	const double unit = is_absolute ? input->instructions_per_sample / input->cycles_per_sample : 1;
	double *deviations;
	int err;

	if (!any_count(input->retired, estimation->graph->instruction_count))
		return 0;
	deviations = calloc(estimation->graph->block_count + 1, sizeof(*deviations));
	if (!deviations)
		return -ENOMEM;
	err = estimate_retired_classes(estimation, unit, deviations);
	if (!err)
		err = frequency_complete(estimation, deviations);
	free(deviations);
	return err || is_absolute ? err : scale_to_samples(estimation);
}

static bool
is_known(const struct frequency_estimation *estimation)
{
	return estimation->graph->block_count > 0 && estimation->result->blocks[0].confidence != CONFIDENCE_NONE;
}

int
frequency_estimate_by_time(struct frequency_estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	double sum = 0;

	for (size_t i = 0; i < graph->instruction_count; i++)
		sum += estimation->result->samples[i];
	if (sum <= 0)
		return 0;
	if (estimation->input->pipeline == PIPELINE_KIND_IN_ORDER)
		return frequency_estimate_in_order(estimation);
	return frequency_estimate_out_of_order(estimation);
}

static int
estimate_best(struct frequency_estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	int err;

	err = estimate_counted(estimation);
	if (err || is_known(estimation))
		return err;
	if (input->branches) {
		err = frequency_estimate_paths(estimation, input->branches, FREQUENCY_BRANCHES);
		if (err || is_known(estimation))
			return err;
	}
	err = estimate_retired(estimation);
	if (err || is_known(estimation))
		return err;
	if (input->bursts) {
		err = frequency_estimate_paths(estimation, input->bursts, FREQUENCY_BURSTS);
		if (err || is_known(estimation))
			return err;
	}
	return frequency_estimate_by_time(estimation);
}

/* A direct jump waits for nothing: a late sample behind it belongs to the code that it jumped to. */
static bool
never_waits(const struct flow_graph *graph, uint32_t instruction)
{
	return graph->instructions && graph->instructions[instruction].flow == FLOW_JUMP;
}

/* Samples of a block's head belong to the ends of the blocks before it, by how often it is reached from each. */
static void
move_head(const struct flow_graph *graph, const double *edges, const struct flow_block *block, double samples,
          double *moved)
{
	double reached = 0;

	for (uint32_t i = 0; i < block->in_count; i++)
		reached += edges[graph->ins[block->in + i]];
	if (reached <= 0) {
		moved[block->first] += samples;
		return;
	}
	for (uint32_t i = 0; i < block->in_count; i++) {
		const uint32_t edge = graph->ins[block->in + i];
		const double share = samples * (edges[edge] / reached);
		const uint32_t from = graph->edges[edge].from;
		const uint32_t last =
			from == FLOW_OUTSIDE ? 0 : graph->blocks[from].first + graph->blocks[from].count - 1;

		moved[from == FLOW_OUTSIDE || never_waits(graph, last) ? block->first : last] += share;
	}
}

/* What lies between blocks, as padding does, keeps its samples. */
static void
move_all(const struct flow_graph *graph, const double *edges, const double *samples, double *moved)
{
	memcpy(moved, samples, graph->instruction_count * sizeof(*moved));
	for (size_t i = 0; i < graph->block_count; i++)
		memset(moved + graph->blocks[i].first, 0, graph->blocks[i].count * sizeof(*moved));
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		for (size_t k = 1; k < block->count; k++)
			moved[block->first + k - 1] += samples[block->first + k];
		move_head(graph, edges, block, samples[block->first], moved);
	}
}

void
frequency_move_back(const struct frequency_input *input, const double *edges, double *samples, double *scratch)
{
	const unsigned skid = input->skid < FREQUENCY_SKID_MAX ? input->skid : FREQUENCY_SKID_MAX;

	for (unsigned i = 0; i < skid; i++) {
		move_all(input->graph, edges, samples, scratch);
		memcpy(samples, scratch, input->graph->instruction_count * sizeof(*samples));
	}
}

/* The result's samples, moved back over the result's edges. 0, or -ENOMEM. */
static int
undo_skid(struct frequency_estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	struct workspace space = {0};
	double *edges, *scratch;

	if (input->skid == 0 || input->pipeline == PIPELINE_KIND_IN_ORDER)
		return 0;
	edges = workspace_array(&space, graph->edge_count, sizeof(*edges));
	scratch = workspace_array(&space, graph->instruction_count, sizeof(*scratch));
	if (!space.has_failed) {
		for (size_t i = 0; i < graph->edge_count; i++)
			edges[i] = result->edges[i].value;
		for (size_t i = 0; i < graph->instruction_count; i++)
			result->samples[i] = (double)input->samples[i];
		frequency_move_back(input, edges, result->samples, scratch);
	}
	workspace_free(&space);
	return space.has_failed ? -ENOMEM : 0;
}

int
frequencies_estimate(const struct frequency_input *input, struct frequencies *result)
{
	struct frequency_estimation estimation;
	int err;

	memset(result, 0, sizeof(*result));
	if (!graph_is_valid(input->graph) || !classes_are_valid(input))
		return -EINVAL;
	err = estimation_init(&estimation, input, result);
	if (!err)
		err = estimate_best(&estimation);
	if (!err)
		err = undo_skid(&estimation);
	workspace_free(&estimation.space);
	if (err)
		frequencies_fini(result);
	return err;
}

void
frequencies_fini(struct frequencies *result)
{
	free(result->blocks);
	free(result->edges);
	free(result->samples);
	memset(result, 0, sizeof(*result));
}
