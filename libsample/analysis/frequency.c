#include "analysis/frequency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_private.h"

#define WIDTH         4.0    /* where nobody says */
#define LONGEST_STALL 2000.0 /* cycles */

static bool
is_place(const struct flow_graph *graph, uint32_t block)
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

		if (!is_place(graph, edge->from) || !is_place(graph, edge->to) ||
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
set_classes(struct estimation *estimation)
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
estimation_init(struct estimation *estimation, const struct frequency_input *input, struct frequencies *result)
{
	const struct flow_graph *graph = input->graph;

	*estimation = (struct estimation){.input = input, .graph = graph, .result = result};
	estimation->width = isfinite(input->width) && input->width > 0 ? input->width : WIDTH;
	estimation->longest_stall = input->longest_stall > 0 ? input->longest_stall : LONGEST_STALL;
	estimation->minimum = calloc(graph->instruction_count + 1, sizeof(double));
	estimation->block_classes = calloc(graph->block_count + 1, sizeof(uint32_t));
	estimation->edge_classes = calloc(graph->edge_count + 1, sizeof(uint32_t));
	result->blocks = calloc(graph->block_count + 1, sizeof(*result->blocks));
	result->edges = calloc(graph->edge_count + 1, sizeof(*result->edges));
	result->samples = calloc(graph->instruction_count + 1, sizeof(double));
	if (!estimation->minimum || !estimation->block_classes || !estimation->edge_classes || !result->blocks ||
	    !result->edges || !result->samples)
		return -ENOMEM;
	for (size_t i = 0; i < graph->instruction_count; i++) {
		const double minimum = input->minimum_cycles ? input->minimum_cycles[i] : 1 / estimation->width;

		estimation->minimum[i] = isfinite(minimum) && minimum > 0 ? minimum : 0;
		result->samples[i] = (double)input->samples[i];
	}
	set_classes(estimation);
	return 0;
}

static void
estimation_fini(struct estimation *estimation)
{
	free(estimation->minimum);
	free(estimation->block_classes);
	free(estimation->edge_classes);
}

static bool
is_known(const struct estimation *estimation)
{
	return estimation->graph->block_count > 0 && estimation->result->blocks[0].confidence != CONFIDENCE_NONE;
}

int
estimate_from_samples(struct estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	double sum = 0;

	for (size_t i = 0; i < graph->instruction_count; i++)
		sum += estimation->result->samples[i];
	if (sum <= 0)
		return 0;
	if (estimation->input->pipeline == PIPELINE_KIND_IN_ORDER)
		return estimate_in_order(estimation);
	return estimate_out_of_order(estimation);
}

static int
estimate_best(struct estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	int err;

	err = estimate_counted(estimation);
	if (!err && !is_known(estimation) && input->branches)
		err = estimate_paths(estimation, input->branches, FREQUENCY_BRANCHES);
	if (!err && !is_known(estimation))
		err = estimate_retired(estimation);
	if (!err && !is_known(estimation) && input->bursts)
		err = estimate_paths(estimation, input->bursts, FREQUENCY_BURSTS);
	if (!err && !is_known(estimation))
		err = estimate_from_samples(estimation);
	return err;
}

int
frequencies_estimate(const struct frequency_input *input, struct frequencies *result)
{
	struct estimation estimation;
	int err;

	memset(result, 0, sizeof(*result));
	if (!graph_is_valid(input->graph) || !classes_are_valid(input))
		return -EINVAL;
	err = estimation_init(&estimation, input, result);
	if (!err)
		err = estimate_best(&estimation);
	if (!err)
		err = undo_skid(&estimation);
	estimation_fini(&estimation);
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
