#include "analysis/frequency_chain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/stationary.h"

#define PRIOR_DEVIATION 2.0   /* of the logarithm of a probability that samples alone give */
#define PRIOR_MIN       0.001 /* of a way that they give none */
#define CUTS            10    /* as if paths had been cut so often */
#define NEAR            1e-7  /* of a logarithm: found */

int
chain_init(struct chain *chain, const struct flow_graph *graph, const uint64_t *seen)
{
	*chain = (struct chain){
		.graph = graph,
		.seen = seen,
		.prior = calloc(graph->edge_count + 1, sizeof(*chain->prior)),
		.starts = calloc(graph->block_count + 1, sizeof(*chain->starts)),
		.weights = calloc(graph->edge_count + 1, sizeof(*chain->weights)),
	};
	return chain->prior && chain->starts && chain->weights ? 0 : -ENOMEM;
}

void
chain_fini(struct chain *chain)
{
	free(chain->prior);
	free(chain->starts);
	free(chain->weights);
}

/* How often an edge was seen that leaves the block. */
static uint64_t
seen_leaving(const struct chain *chain, uint32_t block)
{
	const struct flow_block *at = &chain->graph->blocks[block];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < at->out_count; i++)
		sum += chain->seen[chain->graph->outs[at->out + i]];
	return sum;
}

/*
 * The most likely logarithm of the probability of a way that was taken `taken` of `seen` times, if those are Poisson's
 * and its own is normal around `prior`: taken - seen e^x - (x - prior) / deviation^2 = 0. Newton's method comes from
 * the right and never passes it, for the left side is concave.
 */
static double
likely_logarithm(double taken, double seen, double prior)
{
	const double certainty = 1 / (PRIOR_DEVIATION * PRIOR_DEVIATION);
	double x = taken > 0 ? fmax(prior, log(taken / seen)) : prior, step = 1;

	while (fabs(step) > NEAR) {
		step = (taken - seen * exp(x) - (x - prior) * certainty) / (seen * exp(x) + certainty);
		x += step;
	}
	return x;
}

static void
weigh_block(struct chain *chain, uint32_t block)
{
	const struct flow_block *at = &chain->graph->blocks[block];
	const uint32_t *outs = chain->graph->outs + at->out;
	const double seen = (double)seen_leaving(chain, block);
	double prior = 0;

	for (uint32_t i = 0; i < at->out_count; i++)
		prior += chain->prior[outs[i]];
	for (uint32_t i = 0; i < at->out_count; i++) {
		const double share = prior > 0 ? chain->prior[outs[i]] / prior : 1.0 / at->out_count;

		chain->weights[outs[i]] = at->out_count == 1 ? 1
		                                             : exp(likely_logarithm((double)chain->seen[outs[i]], seen,
		                                                                    log(fmax(share, PRIOR_MIN))));
	}
}

/* Per instruction that was seen; nothing is cut where no samples say where it would go on. */
static double
cut_probability(const struct chain *chain)
{
	const struct flow_graph *graph = chain->graph;
	double instructions = 0, starts = 0;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		instructions += (double)seen_leaving(chain, i) * graph->blocks[i].count;
		starts += chain->starts[i];
	}
	return instructions > 0 && starts > 0 ? CUTS / instructions : 0;
}

void
chain_weigh(struct chain *chain)
{
	const struct flow_graph *graph = chain->graph;
	bool was_entered = false;

	for (uint32_t i = 0; i < graph->block_count; i++)
		weigh_block(chain, i);
	chain->cut = cut_probability(chain);
	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from != FLOW_OUTSIDE)
			continue;
		chain->weights[i] = (double)chain->seen[i];
		was_entered |= chain->seen[i] > 0;
	}
	for (size_t i = 0; i < graph->edge_count && !was_entered; i++)
		if (graph->edges[i].from == FLOW_OUTSIDE && graph->edges[i].to == 0)
			chain->weights[i] = 1;
}

/* The states are the blocks, outside behind them, and behind that where paths that were cut begin again. */
static size_t
list_transitions(const struct chain *chain, struct transition *transitions)
{
	const struct flow_graph *graph = chain->graph;
	const uint32_t outside = (uint32_t)graph->block_count, again = outside + 1;
	size_t count = 0;
	bool is_entered = false;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const uint32_t from = edge->from == FLOW_OUTSIDE ? outside : edge->from;

		if (chain->weights[i] <= 0)
			continue;
		transitions[count++] =
			(struct transition){from, edge->to == FLOW_OUTSIDE ? outside : edge->to, chain->weights[i]};
		is_entered |= from == outside;
	}
	if (!is_entered)
		transitions[count++] = (struct transition){outside, 0, 1};
	for (uint32_t i = 0; i < outside; i++) {
		if (graph->blocks[i].out_count == 0)
			transitions[count++] = (struct transition){i, outside, 1};
		if (chain->cut > 0)
			transitions[count++] = (struct transition){i, again, chain->cut * graph->blocks[i].count};
		if (chain->cut > 0 && chain->starts[i] > 0)
			transitions[count++] = (struct transition){again, i, chain->starts[i]};
	}
	return count;
}

int
chain_solve(const struct chain *chain, double *shares)
{
	const struct flow_graph *graph = chain->graph;
	const size_t states = graph->block_count + 2;
	struct transition *transitions = calloc(graph->edge_count + 3 * states, sizeof(*transitions));
	double *visits = calloc(states, sizeof(*visits));
	int err = -ENOMEM;

	if (transitions && visits)
		err = stationary_solve(transitions, list_transitions(chain, transitions), states,
		                       (uint32_t)graph->block_count, visits);
	for (size_t i = 0; i < graph->block_count && !err; i++)
		shares[i] = visits[i];
	free(transitions);
	free(visits);
	return err;
}
