/*
 * Frequencies of recorded pieces of paths. Where a recording begins depends on where time is spent, so how often a
 * block was seen says little; which way it went from there does not. The blocks are the states of a Markov chain, left
 * to outside and entered again, and how often each ran is its share of the time in the long run.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"
#include "analysis/stationary.h"

#define VISITS_HIGH   3000 /* measured: 83 % of such blocks within 10 % */
#define VISITS_MEDIUM 300  /* 56 % within 10 %, 78 % within 25 % */
#define RARE          0.5  /* how often what was never seen may have happened */

struct chain {
	const struct flow_graph *graph;
	const uint64_t *seen; /* per edge */
	double *weights;      /* per edge: its probability, but for a factor of its block */
	double *leaks;        /* per block: to outside, where no edge goes on */
	uint32_t *queue;
	bool *is_left; /* per block: there is a way to outside */
};

static uint64_t
seen_leaving(const struct chain *chain, const struct flow_block *block)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < block->out_count; i++)
		sum += chain->seen[chain->graph->outs[block->out + i]];
	return sum;
}

/* Where nothing was seen, all ways are alike. */
static void
weigh_edges(struct chain *chain)
{
	const struct flow_graph *graph = chain->graph;
	bool was_entered = false;

	for (size_t i = 0; i < graph->edge_count; i++) {
		chain->weights[i] = (double)chain->seen[i];
		was_entered |= graph->edges[i].from == FLOW_OUTSIDE && chain->seen[i] > 0;
	}
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		for (uint32_t k = 0; k < block->out_count && seen_leaving(chain, block) == 0; k++)
			chain->weights[graph->outs[block->out + k]] = 1;
		chain->leaks[i] = block->out_count == 0 ? 1 : 0;
	}
	for (size_t i = 0; i < graph->edge_count && !was_entered; i++)
		if (graph->edges[i].from == FLOW_OUTSIDE && graph->edges[i].to == 0)
			chain->weights[i] = 1;
}

/* Marks all blocks from which there is a way to outside. */
static void
find_ways_out(struct chain *chain)
{
	const struct flow_graph *graph = chain->graph;
	size_t count = 0;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		chain->is_left[i] = chain->leaks[i] > 0;
		for (uint32_t k = 0; k < graph->blocks[i].out_count; k++) {
			const uint32_t edge = graph->outs[graph->blocks[i].out + k];

			chain->is_left[i] |= chain->weights[edge] > 0 && graph->edges[edge].to == FLOW_OUTSIDE;
		}
		if (chain->is_left[i])
			chain->queue[count++] = i;
	}
	while (count > 0) {
		const struct flow_block *block = &graph->blocks[chain->queue[--count]];

		for (uint32_t k = 0; k < block->in_count; k++) {
			const uint32_t edge = graph->ins[block->in + k];
			const uint32_t from = graph->edges[edge].from;

			if (from == FLOW_OUTSIDE || chain->is_left[from] || chain->weights[edge] <= 0)
				continue;
			chain->is_left[from] = true;
			chain->queue[count++] = from;
		}
	}
}

/* A loop that was never seen to end: it ends where an edge leads out of it, and less often than anything else. */
static void
open_loops(struct chain *chain)
{
	const struct flow_graph *graph = chain->graph;

	find_ways_out(chain);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->from != FLOW_OUTSIDE && !chain->is_left[edge->from] &&
		    (edge->to == FLOW_OUTSIDE || chain->is_left[edge->to]))
			chain->weights[i] = RARE;
	}
	find_ways_out(chain);
	for (size_t i = 0; i < graph->block_count; i++)
		if (!chain->is_left[i])
			chain->leaks[i] = RARE;
}

/* The chain's states are the blocks, and outside behind them. */
static int
solve_chain(const struct chain *chain, double *shares)
{
	const struct flow_graph *graph = chain->graph;
	const uint32_t outside = (uint32_t)graph->block_count;
	struct transition *transitions = calloc(graph->edge_count + graph->block_count + 1, sizeof(*transitions));
	size_t count = 0;
	bool is_entered = false;
	int err;

	if (!transitions)
		return -ENOMEM;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const uint32_t from = edge->from == FLOW_OUTSIDE ? outside : edge->from;
		const uint32_t to = edge->to == FLOW_OUTSIDE ? outside : edge->to;

		if (chain->weights[i] > 0)
			transitions[count++] = (struct transition){from, to, chain->weights[i]};
		is_entered |= from == outside && chain->weights[i] > 0;
	}
	for (uint32_t i = 0; i < outside; i++)
		if (chain->leaks[i] > 0)
			transitions[count++] = (struct transition){i, outside, chain->leaks[i]};
	if (!is_entered)
		transitions[count++] = (struct transition){outside, 0, 1};
	err = stationary_solve(transitions, count, graph->block_count + 1, outside, shares);
	free(transitions);
	return err;
}

static uint8_t
visits_confidence(uint64_t visits)
{
	if (visits >= VISITS_HIGH)
		return CONFIDENCE_HIGH;
	return visits >= VISITS_MEDIUM ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static void
chain_write(const struct chain *chain, const struct frequency_paths *paths, const double *shares,
            enum frequency_method method, struct frequencies *result)
{
	const struct flow_graph *graph = chain->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint64_t visits = paths->visits ? paths->visits[i] : seen_leaving(chain, block);
		double weights = chain->leaks[i];

		result->blocks[i] = (struct frequency){shares[i], visits_confidence(visits), (uint8_t)method};
		for (uint32_t k = 0; k < block->out_count; k++)
			weights += chain->weights[graph->outs[block->out + k]];
		for (uint32_t k = 0; k < block->out_count; k++) {
			const uint32_t edge = graph->outs[block->out + k];

			result->edges[edge] = result->blocks[i];
			result->edges[edge].value *= weights > 0 ? chain->weights[edge] / weights : 0;
		}
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from == FLOW_OUTSIDE)
			result->edges[i] = (struct frequency){0};
}

static bool
chain_init(struct chain *chain, const struct flow_graph *graph, const uint64_t *seen)
{
	*chain = (struct chain){.graph = graph, .seen = seen};
	chain->weights = calloc(graph->edge_count + 1, sizeof(*chain->weights));
	chain->leaks = calloc(graph->block_count + 1, sizeof(*chain->leaks));
	chain->queue = calloc(graph->block_count + 1, sizeof(*chain->queue));
	chain->is_left = calloc(graph->block_count + 1, sizeof(*chain->is_left));
	return chain->weights && chain->leaks && chain->queue && chain->is_left;
}

static void
chain_fini(struct chain *chain)
{
	free(chain->weights);
	free(chain->leaks);
	free(chain->queue);
	free(chain->is_left);
}

int
estimate_paths(struct estimation *estimation, const struct frequency_paths *paths, enum frequency_method method)
{
	const struct flow_graph *graph = estimation->graph;
	double *shares;
	struct chain chain;
	bool was_seen = false;
	int err = -ENOMEM;

	for (size_t i = 0; i < graph->edge_count; i++)
		was_seen |= paths->edges[i] > 0;
	if (!was_seen || graph->block_count == 0)
		return 0;
	shares = calloc(graph->block_count + 1, sizeof(*shares));
	if (chain_init(&chain, graph, paths->edges) && shares) {
		weigh_edges(&chain);
		open_loops(&chain);
		err = solve_chain(&chain, shares);
	}
	if (!err) {
		chain_write(&chain, paths, shares, method, estimation->result);
		err = settle(estimation);
	}
	if (!err)
		err = scale_to_samples(estimation);
	chain_fini(&chain);
	free(shares);
	return err == -E2BIG ? 0 : err; /* too entangled: another source, then */
}
