/* Frequencies of recorded pieces of paths, by the Markov chain of frequency_internal.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frequency_internal.h"
#include "analysis/markov.h"
#include "analysis/statistics.h"

#define PRIOR_DEVIATION  2.0   /* of the logarithm of a probability that samples alone give */
#define PRIOR_MIN        0.001 /* of an edge that they give none */
#define CUTS             10    /* as if paths had been cut so often */
#define NEWTON_TOLERANCE 1e-7  /* of a logarithm */

#define MULTIPLICATIONS_MAX 20000000 /* for one solution: 80 MB; recorded procedures take 4.5 a block at most */

#define TRIALS           8   /* perturbed chains */
#define CUT_FACTOR       8   /* times more, or fewer, cuts in them */
#define OVERDISPERSION   2.0 /* observations that count as one: branches depend on how they went before */
#define CYCLES_DEVIATION 0.5 /* of the logarithm of what an instruction takes, between blocks */

/* Largest uncertainties; measured: docs/analysis.md. */
#define CHAIN_UNCERTAINTY_HIGH   0.08
#define CHAIN_UNCERTAINTY_MEDIUM 0.20

int
frequency_chain_init(struct frequency_chain *chain, const struct flow_graph *graph, const uint64_t *seen)
{
	*chain = (struct frequency_chain){.graph = graph, .seen = seen};
	chain->prior = workspace_array(&chain->space, graph->edge_count, sizeof(*chain->prior));
	chain->starts = workspace_array(&chain->space, graph->block_count, sizeof(*chain->starts));
	chain->weights = workspace_array(&chain->space, graph->edge_count, sizeof(*chain->weights));
	return chain->space.has_failed ? -ENOMEM : 0;
}

void
frequency_chain_fini(struct frequency_chain *chain)
{
	workspace_free(&chain->space);
	markov_free(chain->markov);
}

/* How often an edge was seen that leaves the block. */
static uint64_t
seen_leaving(const struct frequency_chain *chain, uint32_t block)
{
	const struct flow_block *at = &chain->graph->blocks[block];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < at->out_count; i++)
		sum += chain->seen[chain->graph->outs[at->out + i]];
	return sum;
}

/*
 * The most likely logarithm of the probability of an edge that was taken `taken` of `seen` times, if those are
 * Poisson's and its own is normal around `prior`: taken - seen e^x - (x - prior) / deviation^2 = 0. Newton's method
 * comes from the right and never passes it, for the left side is concave.
 */
static double
posterior_mode(double taken, double seen, double prior)
{
	const double certainty = 1 / (PRIOR_DEVIATION * PRIOR_DEVIATION);
	double x = taken > 0 ? fmax(prior, log(taken / seen)) : prior, step = 1;

	while (fabs(step) > NEWTON_TOLERANCE) {
		step = (taken - seen * exp(x) - (x - prior) * certainty) / (seen * exp(x) + certainty);
		x += step;
	}
	return x;
}

static void
weigh_block(struct frequency_chain *chain, uint32_t block)
{
	const struct flow_block *at = &chain->graph->blocks[block];
	const uint32_t *outs = chain->graph->outs + at->out;
	const double seen = (double)seen_leaving(chain, block);
	double prior = 0;

	for (uint32_t i = 0; i < at->out_count; i++)
		prior += chain->prior[outs[i]];
	for (uint32_t i = 0; i < at->out_count; i++) {
		const double share = prior > 0 ? chain->prior[outs[i]] / prior : 1.0 / at->out_count;

		chain->weights[outs[i]] =
			at->out_count == 1
				? 1
				: exp(posterior_mode((double)chain->seen[outs[i]], seen, log(fmax(share, PRIOR_MIN))));
	}
}

/* Per instruction that was seen; nothing is cut where no samples say where it would go on. */
static double
cut_probability(const struct frequency_chain *chain)
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
frequency_chain_weigh(struct frequency_chain *chain)
{
	const struct flow_graph *graph = chain->graph;
	bool was_entered = false;

	markov_free(chain->markov);
	chain->markov = NULL;
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

/* An edge of the Markov chain; its probability is the weight divided by the sum of those from its state. */
struct weighted_edges {
	struct markov_edge *edges;
	double *weights;
	size_t count;
};

static void
add_edge(struct weighted_edges *list, uint32_t from, uint32_t to, double weight)
{
	list->edges[list->count] = (struct markov_edge){from, to};
	list->weights[list->count++] = weight;
}

/* The states are the blocks, outside behind them, and behind that where paths that were cut begin again. */
static void
list_edges(const struct frequency_chain *chain, struct weighted_edges *list)
{
	const struct flow_graph *graph = chain->graph;
	const uint32_t outside = (uint32_t)graph->block_count, restart = outside + 1;
	bool is_entered = false;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const uint32_t from = edge->from == FLOW_OUTSIDE ? outside : edge->from;

		if (chain->weights[i] <= 0)
			continue;
		add_edge(list, from, edge->to == FLOW_OUTSIDE ? outside : edge->to, chain->weights[i]);
		is_entered |= from == outside;
	}
	if (!is_entered)
		add_edge(list, outside, 0, 1);
	for (uint32_t i = 0; i < outside; i++) {
		if (graph->blocks[i].out_count == 0)
			add_edge(list, i, outside, 1);
		if (chain->cut > 0)
			add_edge(list, i, restart, chain->cut * graph->blocks[i].count);
		if (chain->cut > 0 && chain->starts[i] > 0)
			add_edge(list, restart, i, chain->starts[i]);
	}
}

int
frequency_chain_solve(struct frequency_chain *chain, double *shares)
{
	const struct flow_graph *graph = chain->graph;
	const size_t states = graph->block_count + 2, edges_max = graph->edge_count + 3 * states;
	struct workspace space = {0};
	struct weighted_edges list = {
		.edges = workspace_array(&space, edges_max, sizeof(*list.edges)),
		.weights = workspace_array(&space, edges_max, sizeof(*list.weights)),
	};
	double *sums = workspace_array(&space, states, sizeof(*sums));
	double *visits = workspace_array(&space, states, sizeof(*visits));
	int err = -ENOMEM;

	if (space.has_failed)
		goto out;
	list_edges(chain, &list);
	err = chain->markov ? 0
	                    : markov_plan(list.edges, list.count, states, (uint32_t)graph->block_count,
	                                  MULTIPLICATIONS_MAX, &chain->markov);
	if (err)
		goto out;
	for (size_t i = 0; i < list.count; i++)
		sums[list.edges[i].from] += list.weights[i];
	for (size_t i = 0; i < list.count; i++)
		list.weights[i] /= sums[list.edges[i].from];
	markov_visits(chain->markov, list.weights, visits);
	memcpy(shares, visits, graph->block_count * sizeof(*shares));
out:
	workspace_free(&space);
	return err;
}

/*
 * Uncertainty of the shares of a chain: it is perturbed as other recordings would have done it, and solved again.
 */

struct perturbation {
	struct frequency_chain *chain;
	double *weights, *starts; /* unperturbed */
	double *shares;           /* perturbed */
	double cut;
	uint64_t random;
};

/* Of the share of an edge among those of its block, by how often it was seen: the deviation of its logarithm. */
static double
edge_uncertainty(const struct frequency_chain *chain, uint32_t edge)
{
	return sqrt(log(1 + OVERDISPERSION / ((double)chain->seen[edge] + 0.5)));
}

/* xorshift64* (Vigna 2016), with a fixed seed, so that results are reproducible. Above 0, at most 1. */
static double
draw(struct perturbation *perturbation)
{
	perturbation->random ^= perturbation->random >> 12;
	perturbation->random ^= perturbation->random << 25;
	perturbation->random ^= perturbation->random >> 27;
	return (double)((perturbation->random * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
}

/* A factor whose logarithm is normal (Box and Muller 1958). */
static double
draw_factor(struct perturbation *perturbation, double deviation)
{
	const double radius = sqrt(-2 * log(draw(perturbation)));

	return exp(deviation * radius * cos(2 * M_PI * draw(perturbation)));
}

/* What is above 0 stays so: the chain keeps its edges, and its plan. */
static void
perturb(struct perturbation *perturbation, int trial)
{
	struct frequency_chain *chain = perturbation->chain;
	const struct flow_graph *graph = chain->graph;

	for (uint32_t i = 0; i < graph->edge_count; i++)
		chain->weights[i] = perturbation->weights[i] * draw_factor(perturbation, edge_uncertainty(chain, i));
	for (size_t i = 0; i < graph->block_count; i++)
		chain->starts[i] = perturbation->starts[i] * draw_factor(perturbation, CYCLES_DEVIATION);
	chain->cut = trial % 2 ? perturbation->cut * CUT_FACTOR : perturbation->cut / CUT_FACTOR;
}

/* The logarithm of the factor by which all are larger: half of the samples are in blocks that have a larger one. */
static double
common_change(const struct perturbation *perturbation, const double *shares, struct weighted_value *changes)
{
	const size_t blocks = perturbation->chain->graph->block_count;
	size_t count = 0;

	for (size_t i = 0; i < blocks; i++) {
		if (shares[i] <= 0 || perturbation->shares[i] <= 0)
			continue;
		changes[count++] =
			(struct weighted_value){log(perturbation->shares[i] / shares[i]), perturbation->starts[i]};
	}
	return statistics_weighted_median(changes, count);
}

int
frequency_chain_uncertainty(struct frequency_chain *chain, const double *shares, double *uncertainties)
{
	const struct flow_graph *graph = chain->graph;
	struct workspace space = {0};
	struct weighted_value *changes = workspace_array(&space, graph->block_count, sizeof(*changes));
	struct perturbation perturbation = {
		.chain = chain,
		.weights = chain->weights,
		.starts = chain->starts,
		.shares = workspace_array(&space, graph->block_count, sizeof(double)),
		.cut = chain->cut,
		.random = 88172645463325252,
	};
	int err;

	chain->weights = workspace_array(&space, graph->edge_count, sizeof(double));
	chain->starts = workspace_array(&space, graph->block_count, sizeof(double));
	err = space.has_failed ? -ENOMEM : 0;
	for (size_t i = 0; i < graph->block_count; i++)
		uncertainties[i] = 0;
	for (int trial = 0; trial < TRIALS && !err; trial++) {
		double common;

		perturb(&perturbation, trial);
		err = frequency_chain_solve(chain, perturbation.shares);
		if (err)
			break;
		common = common_change(&perturbation, shares, changes);
		for (size_t i = 0; i < graph->block_count; i++) {
			const double change = shares[i] > 0 && perturbation.shares[i] > 0
			                              ? log(perturbation.shares[i] / shares[i]) - common
			                              : 1;

			uncertainties[i] += change * change / TRIALS;
		}
	}
	for (size_t i = 0; i < graph->block_count; i++)
		uncertainties[i] = sqrt(uncertainties[i]);
	chain->weights = perturbation.weights;
	chain->starts = perturbation.starts;
	chain->cut = perturbation.cut;
	workspace_free(&space);
	return err;
}

/* The estimator. */

/* The estimate by samples alone, which is the prior of the chain and does not stay in the result. */
static int
set_prior(struct frequency_estimation *estimation, struct frequency_chain *chain, double *blocks)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequencies *result = estimation->result;
	int err;

	err = frequency_estimate_by_time(estimation);
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

static uint8_t
chain_confidence(double uncertainty)
{
	return frequency_confidence_of(uncertainty, CHAIN_UNCERTAINTY_HIGH, CHAIN_UNCERTAINTY_MEDIUM);
}

static void
write_edges(const struct frequency_chain *chain, uint32_t index, double uncertainty, struct frequencies *result)
{
	const struct flow_block *block = &chain->graph->blocks[index];
	const struct frequency *frequency = &result->blocks[index];
	double weights = 0;

	for (uint32_t i = 0; i < block->out_count; i++)
		weights += chain->weights[chain->graph->outs[block->out + i]];
	for (uint32_t i = 0; i < block->out_count; i++) {
		const uint32_t edge = chain->graph->outs[block->out + i];
		const double own = block->out_count > 1 ? edge_uncertainty(chain, edge) : 0;

		result->edges[edge] = (struct frequency){frequency->value * chain->weights[edge] / weights,
		                                         chain_confidence(hypot(uncertainty, own)), frequency->method};
	}
}

static void
write_result(const struct frequency_chain *chain, const double *shares, const double *uncertainties,
             enum frequency_method method, struct frequencies *result)
{
	for (uint32_t i = 0; i < chain->graph->block_count; i++) {
		result->blocks[i] = (struct frequency){shares[i], chain_confidence(uncertainties[i]), (uint8_t)method};
		write_edges(chain, i, uncertainties[i], result);
	}
}

static int
estimate_chain(struct frequency_estimation *estimation, struct frequency_chain *chain, enum frequency_method method)
{
	const struct flow_graph *graph = estimation->graph;
	struct workspace space = {0};
	double *shares = workspace_array(&space, graph->block_count, sizeof(*shares));
	double *uncertainties = workspace_array(&space, graph->block_count, sizeof(*uncertainties));
	double *estimates = workspace_array(&space, graph->block_count, sizeof(*estimates));
	int err = -ENOMEM;

	if (space.has_failed)
		goto out;
	err = set_prior(estimation, chain, estimates);
	if (err)
		goto out;
	for (size_t i = 0; i < graph->block_count; i++)
		for (uint32_t k = 0; k < graph->blocks[i].count; k++)
			chain->starts[i] += (double)estimation->input->samples[graph->blocks[i].first + k];
	frequency_chain_weigh(chain);
	err = frequency_chain_solve(chain, shares);
	if (err)
		goto out;
	err = frequency_chain_uncertainty(chain, shares, uncertainties);
	if (err)
		goto out;
	write_result(chain, shares, uncertainties, method, estimation->result);
	err = frequency_complete(estimation, NULL);
	if (err)
		goto out;
	err = frequency_scale_to_estimates(estimation, estimates);
out:
	workspace_free(&space);
	return err;
}

int
frequency_estimate_paths(struct frequency_estimation *estimation, const uint64_t *seen, enum frequency_method method)
{
	const struct flow_graph *graph = estimation->graph;
	struct frequency_chain chain;
	bool was_seen = false;
	int err;

	for (size_t i = 0; i < graph->edge_count; i++)
		was_seen |= graph->edges[i].from != FLOW_OUTSIDE && seen[i] > 0;
	if (!was_seen || graph->block_count == 0)
		return 0;
	err = frequency_chain_init(&chain, graph, seen);
	if (!err)
		err = estimate_chain(estimation, &chain, method);
	frequency_chain_fini(&chain);
	return err == -E2BIG ? 0 : err; /* too entangled: the next source is used */
}
