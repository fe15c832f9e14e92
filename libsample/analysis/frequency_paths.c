/* Frequencies of recorded pieces of paths, as frequency_chain.h has it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_chain.h"
#include "analysis/frequency_private.h"

/* Largest doubts; measured: docs/analysis.md. */
#define DOUBT_HIGH   0.08
#define DOUBT_MEDIUM 0.20

/* What samples alone give, forgotten again by the result. */
static int
take_prior(struct estimation *estimation, struct chain *chain, double *blocks)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	int err;

	err = estimate_from_samples(estimation);
	for (size_t i = 0; i < graph->edge_count; i++)
		chain->prior[i] = result->edges[i].value;
	for (uint32_t i = 0; i < graph->block_count; i++)
		blocks[i] = result->blocks[i].value;
	memset(result->blocks, 0, graph->block_count * sizeof(*result->blocks));
	memset(result->edges, 0, graph->edge_count * sizeof(*result->edges));
	result->is_relative = false;
	for (size_t i = 0; i < graph->instruction_count; i++)
		result->samples[i] = (double)estimation->input->samples[i];
	return err;
}

static void
take_starts(const struct estimation *estimation, struct chain *chain)
{
	for (size_t i = 0; i < estimation->graph->block_count; i++) {
		const struct flow_block *block = &estimation->graph->blocks[i];

		for (uint32_t k = 0; k < block->count; k++)
			chain->starts[i] += (double)estimation->input->samples[block->first + k];
	}
}

static uint8_t
doubt_confidence(double doubt)
{
	if (doubt <= DOUBT_HIGH)
		return CONFIDENCE_HIGH;
	return doubt <= DOUBT_MEDIUM ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

static void
write_block(const struct chain *chain, uint32_t index, double doubt, struct frequencies *result)
{
	const struct flow_block *block = &chain->graph->blocks[index];
	const struct frequency *frequency = &result->blocks[index];
	double weights = 0;

	for (uint32_t i = 0; i < block->out_count; i++)
		weights += chain->weights[chain->graph->outs[block->out + i]];
	for (uint32_t i = 0; i < block->out_count; i++) {
		const uint32_t edge = chain->graph->outs[block->out + i];
		const double own = block->out_count > 1 ? chain_edge_doubt(chain, edge) : 0;

		result->edges[edge] = (struct frequency){frequency->value * chain->weights[edge] / weights,
		                                         doubt_confidence(hypot(doubt, own)), frequency->method};
	}
}

static void
write_result(const struct chain *chain, const double *shares, const double *doubts, enum frequency_method method,
             struct frequencies *result)
{
	for (uint32_t i = 0; i < chain->graph->block_count; i++) {
		result->blocks[i] = (struct frequency){shares[i], doubt_confidence(doubts[i]), (uint8_t)method};
		write_block(chain, i, doubts[i], result);
	}
}

static int
estimate_chain(struct estimation *estimation, struct chain *chain, enum frequency_method method)
{
	const struct flow_graph *graph = estimation->graph;
	double *shares = calloc(graph->block_count + 1, sizeof(*shares));
	double *doubts = calloc(graph->block_count + 1, sizeof(*doubts));
	double *estimates = calloc(graph->block_count + 1, sizeof(*estimates));
	int err = -ENOMEM;

	if (shares && doubts && estimates)
		err = take_prior(estimation, chain, estimates);
	if (!err) {
		take_starts(estimation, chain);
		chain_weigh(chain);
		err = chain_solve(chain, shares);
	}
	if (!err)
		err = chain_doubt(chain, shares, doubts);
	if (!err) {
		write_result(chain, shares, doubts, method, estimation->result);
		err = settle(estimation, NULL);
	}
	if (!err)
		err = scale_to_estimates(estimation, estimates);
	free(shares);
	free(doubts);
	free(estimates);
	return err;
}

int
estimate_paths(struct estimation *estimation, const struct frequency_paths *paths, enum frequency_method method)
{
	const struct flow_graph *graph = estimation->graph;
	struct chain chain;
	bool was_seen = false;
	int err;

	for (size_t i = 0; i < graph->edge_count; i++)
		was_seen |= graph->edges[i].from != FLOW_OUTSIDE && paths->edges[i] > 0;
	if (!was_seen || graph->block_count == 0)
		return 0;
	err = chain_init(&chain, graph, paths->edges);
	if (!err)
		err = estimate_chain(estimation, &chain, method);
	chain_fini(&chain);
	return err == -E2BIG ? 0 : err; /* too entangled: another source, then */
}
