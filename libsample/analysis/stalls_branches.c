/* Whether a block's head may have waited for a branch that was predicted wrongly. */
#include <math.h>

#include "analysis/stalls_suspects.h"

#define NEGLIGIBLE_CYCLES 0.5 /* an execution: no reason for a stall */
#define SAMPLES_MIN       10  /* of a block that was certainly run */
#define BLOCKS_MAX        3   /* between a branch and who waits for it */
#define KNOWN_SHARE       0.5 /* of what a block runs: less is known to be wrong */
#define WAYS_MAX          32  /* to a block, that are followed further */

/* A fit may call a block never run that has samples: it ran, nobody knows how often. */
static bool
is_run_unknown(const struct elimination *elimination, uint32_t block)
{
	const struct frequencies *frequencies = elimination->input->frequencies;
	const struct flow_block *at;
	double samples = 0;

	if (block == FLOW_OUTSIDE || frequencies->blocks[block].value > 0)
		return false;
	at = &elimination->graph->blocks[block];
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		samples += frequencies->samples[i];
	return samples >= SAMPLES_MIN;
}

/*
 * How often, of the executions of the block it comes from, an edge is taken against the prediction. Of ways that are
 * nearly always the same, a predictor of an out-of-order core learns that much; the paper, of an older one, does not.
 */
static double
wrong_share(const struct elimination *elimination, uint32_t edge)
{
	const struct flow_graph *graph = elimination->graph;
	const struct frequency *frequencies = elimination->input->frequencies->edges;
	const struct flow_block *from = &graph->blocks[graph->edges[edge].from];
	double others = 0;

	if (elimination->in_order || frequencies[edge].confidence == CONFIDENCE_NONE || !(frequencies[edge].value > 0))
		return 1;
	for (uint32_t i = 0; i < from->out_count; i++) {
		const uint32_t other = graph->outs[from->out + i];

		if (other == edge)
			continue;
		if (is_run_unknown(elimination, graph->edges[other].to))
			return 1;
		others += frequencies[other].value;
	}
	return fmin(1, 2 * others / frequencies[edge].value);
}

/*
 * Frequencies of ways may be wrong where there are many. Where mispredictions were sampled exactly, only those that are
 * well known rule others out.
 */
static bool
ways_are_known(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = &elimination->graph->blocks[block];
	double sum = 0;

	if (!elimination->input->events[STALL_EVENT_MISPREDICT].is_exact)
		return true;
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = elimination->graph->ins[at->in + i];

		if (elimination->input->frequencies->edges[edge].confidence >= CONFIDENCE_MEDIUM)
			sum += edge_share(elimination, edge, block);
	}
	return sum >= KNOWN_SHARE;
}

/* Edges from a branch that lead to `block`, directly or, in order, over blocks that are done within the penalty. */
static void
suspect_ways(const struct place *place, uint32_t block, double share, double cycles, unsigned depth)
{
	const struct elimination *elimination = place->elimination;
	const struct flow_graph *graph = elimination->graph;
	const struct flow_block *at = &graph->blocks[block];
	const bool are_known = ways_are_known(elimination, block);

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i], from = graph->edges[edge].from;
		const double here = are_known ? share * edge_share(elimination, edge, block) : share;
		const double best = from == FLOW_OUTSIDE ? 0 : elimination->input->schedules[from].best_cycles;
		uint32_t last;

		if (here < RARE_EDGE)
			continue;
		if (from == FLOW_OUTSIDE) { /* called through a pointer, perhaps */
			suspect(place, CAUSE_MISPREDICT, model_cycles(place, here * cycles))->is_open = true;
			continue;
		}
		last = graph->blocks[from].first + graph->blocks[from].count - 1;
		if (graph->instructions[last].flow == FLOW_BRANCH ||
		    graph->instructions[last].flow == FLOW_JUMP_INDIRECT) {
			const double wrong = here * wrong_share(elimination, edge);

			if (wrong * cycles >= NEGLIGIBLE_CYCLES)
				blame(suspect(place, CAUSE_MISPREDICT, model_cycles(place, wrong * cycles)), last);
		} else if (depth > 0 && at->in_count <= WAYS_MAX && best < cycles &&
		           !is_call_site(&graph->instructions[last])) {
			suspect_ways(place, from, here, cycles - best, depth - 1);
		}
	}
}

void
suspect_branches(const struct place *place)
{
	const struct elimination *elimination = place->elimination;

	if (place->index == 0)
		suspect_ways(place, place->block, 1, elimination->pipeline->mispredict_cycles,
		             elimination->in_order ? BLOCKS_MAX : 0);
}
