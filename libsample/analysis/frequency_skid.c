/* Samples that lie later than what they are of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_private.h"

/*
 * A jump that goes where it says waits for nothing: who comes from there, and is late, waited for the code that it
 * jumped to.
 */
static bool
waits_for_nothing(const struct flow_graph *graph, uint32_t instruction)
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

		moved[from == FLOW_OUTSIDE || waits_for_nothing(graph, last) ? block->first : last] += share;
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
skid_move_back(const struct frequency_input *input, const double *edges, double *samples, double *scratch)
{
	const unsigned skid = input->skid < FREQUENCY_SKID_MAX ? input->skid : FREQUENCY_SKID_MAX;

	for (unsigned i = 0; i < skid; i++) {
		move_all(input->graph, edges, samples, scratch);
		memcpy(samples, scratch, input->graph->instruction_count * sizeof(*samples));
	}
}

int
undo_skid(struct estimation *estimation)
{
	const struct frequency_input *input = estimation->input;
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	double *edges, *scratch;
	int err = -ENOMEM;

	if (input->skid == 0 || input->pipeline == PIPELINE_KIND_IN_ORDER)
		return 0;
	edges = calloc(graph->edge_count + 1, sizeof(*edges));
	scratch = calloc(graph->instruction_count + 1, sizeof(*scratch));
	if (edges && scratch) {
		for (size_t i = 0; i < graph->edge_count; i++)
			edges[i] = result->edges[i].value;
		for (size_t i = 0; i < graph->instruction_count; i++)
			result->samples[i] = (double)input->samples[i];
		skid_move_back(input, edges, result->samples, scratch);
		err = 0;
	}
	free(edges);
	free(scratch);
	return err;
}
