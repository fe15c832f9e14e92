/*
 * frequency_internal.h - the interface between the estimators of frequencies
 *
 * Each estimator fills in the blocks and edges of the result that have no value yet, and does not change the others.
 */
#ifndef DCPI_ANALYSIS_FREQUENCY_INTERNAL_H
#define DCPI_ANALYSIS_FREQUENCY_INTERNAL_H

#include "analysis/frequency.h"
#include "base/workspace.h"

struct frequency_estimation {
	const struct frequency_input *input;
	const struct flow_graph *graph;
	struct frequencies *result;
	struct workspace space;  /* of the arrays below */
	double *minimum;         /* M per instruction, never negative */
	double width;            /* instructions a cycle */
	double longest_stall;    /* cycles */
	uint32_t *block_classes; /* each block its own, if the input has none */
	uint32_t *edge_classes;
	size_t class_count;
};

/* 0, or -ENOMEM; afterwards each block and edge has a value, or CONFIDENCE_NONE if nothing is known. */
int frequency_estimate_in_order(struct frequency_estimation *estimation);
int frequency_estimate_out_of_order(struct frequency_estimation *estimation);

/* Call the one of these two estimators that fits the pipeline; without samples nothing is filled in. 0 or -ENOMEM. */
int frequency_estimate_by_time(struct frequency_estimation *estimation);

/* 0, or -ENOMEM; nothing is filled in when nothing was recorded, or the chain is too entangled. */
int frequency_estimate_paths(struct frequency_estimation *estimation, const uint64_t *seen,
                             enum frequency_method method);

/*
 * Fill in blocks and edges whose value is unknown or uncertain from all others. `deviations`: how far each block's
 * value may be off, in both directions, in units of F, above 0; NULL: by its confidence, with a margin. 0, or -ENOMEM.
 */
int frequency_complete(struct frequency_estimation *estimation, const double *deviations);

/*
 * If blocks that run equally often have few samples each, share the sum of their samples among them by their costs. 0,
 * or -ENOMEM with the samples unchanged.
 */
int frequency_pool(const struct frequency_estimation *estimation, const double *costs, double *samples);

#define FREQUENCY_TYPICAL 1.7 /* measured: half of the samples are in blocks above this multiple */

/* The typical cycles of one execution of a block, out of order. */
static inline double
frequency_typical_cost(const struct frequency_estimation *estimation, const struct flow_block *block)
{
	return FREQUENCY_TYPICAL * block->count / estimation->width;
}

/* The sum of the values, one per instruction, of a block's instructions. */
static inline double
frequency_block_sum(const struct flow_block *block, const double *values)
{
	double sum = 0;

	for (size_t k = 0; k < block->count; k++)
		sum += values[block->first + k];
	return sum;
}

/* How often a block should run, and what a deviation costs. */
struct frequency_target {
	double value;        /* F; not negative */
	double below, above; /* cost of each unit below, and above, `value`; not negative */
	double slack;        /* up to this part of `value`, a deviation costs a quarter; 0 to below 1 */
};

/*
 * The flow through the graph with the least cost, from one target per block. Writes one value per block and per edge.
 * Edges that the blocks leave open are shared as evenly as the blocks allow. 0; -ENOMEM; -EAGAIN: it took too many
 * steps, and the values are near that flow.
 */
int frequency_fit(const struct flow_graph *graph, const struct frequency_target *targets, double *blocks,
                  double *edges);

/* The maximum likelihood flow through a graph, by the model of frequency_out_of_order.c. */
struct frequency_mle;

/* 0; -ENOMEM; -E2BIG: the graph is too entangled. */
int frequency_mle_new(const struct flow_graph *graph, struct frequency_mle **mle);
void frequency_mle_free(struct frequency_mle *mle); /* NULL is allowed */

/* The input of an estimate, per block: its samples, and the assumed cycles of one execution. */
struct block_times {
	const double *samples, *costs;
};

/*
 * Find one value per block and per edge. The search begins at the flow of the last frequency_mle_set_start(). 0;
 * -ENOMEM; -EAGAIN: it took too many steps, and the flow is nearly the likeliest.
 */
int frequency_mle_find(struct frequency_mle *mle, const struct block_times *times, double *blocks, double *edges);
void frequency_mle_set_start(struct frequency_mle *mle); /* take the flow that was found last */

struct flow_values {
	const double *blocks, *edges;
};

/*
 * How much the values of the flow `found`, per block and per edge, change if the costs differ from the assumed ones:
 * the mean of |natural logarithm| over some trials, relative to the rest of the procedure, at most 3. It is added to
 * the values in the arrays. 0; -ENOMEM; -E2BIG: it would take too long.
 */
int frequency_mle_uncertainty(struct frequency_mle *mle, const struct frequency_estimation *estimation,
                              const struct block_times *times, const struct flow_values *found,
                              double *block_uncertainties, double *edge_uncertainties);

/*
 * Recorded pieces of paths as a Markov chain.
 *
 * The blocks of a procedure are the states; control leaves to outside and enters again. How often a block ran is its
 * share of the visits in the long run. Where a recording begins depends on where time is spent, so how often it shows a
 * block says little; by which edges control left the block says more. For what was seen too rarely, the samples of time
 * are used, in two places:
 *  - the prior of an edge's probability is the one from samples alone, which is right within a factor of about
 *    e^PRIOR_DEVIATION;
 *  - a path ends anywhere with a small probability, as if it had been cut CUTS times, and begins again where samples
 *    are. So loops between which control moves less often than that are compared by the time spent in them.
 * Thread rule: one thread per chain.
 */
struct frequency_chain {
	struct workspace space; /* of the arrays below, but for `seen` */
	const struct flow_graph *graph;
	const uint64_t *seen;  /* per edge */
	double *prior;         /* per edge: its flow by samples alone; all 0: nothing is known */
	double *starts;        /* per block: its samples */
	double cut;            /* probability that a path is cut, per instruction */
	double *weights;       /* per edge: its probability times a factor of its block */
	struct markov *markov; /* of the possible edges, for all solutions; NULL: not solved yet */
};

/* 0 or -ENOMEM; frequency_chain_fini() is needed after both. */
int frequency_chain_init(struct frequency_chain *chain, const struct flow_graph *graph, const uint64_t *seen);
void frequency_chain_fini(struct frequency_chain *chain);

/* Compute probabilities and `cut` from `seen`, and from `prior` and `starts`, which the caller fills in. */
void frequency_chain_weigh(struct frequency_chain *chain);

/* How often each block ran, times one unknown factor. 0, -ENOMEM, -E2BIG for a chain that is too entangled. */
int frequency_chain_solve(struct frequency_chain *chain, double *shares);

/*
 * The relative uncertainty of each share against the others: the standard deviation of its logarithm, less the median
 * change of all blocks, weighted by samples, in random recordings that the chain predicts, with fewer cuts and with
 * more. 0, or an error of frequency_chain_solve().
 */
int frequency_chain_uncertainty(struct frequency_chain *chain, const double *shares, double *uncertainties);

/*
 * Move samples back by the input's skid, and distribute them over incoming edges by their values. `scratch`: one per
 * instruction.
 */
void frequency_move_back(const struct frequency_input *input, const double *edges, double *samples, double *scratch);

/*
 * Scale the result to the estimates from samples alone: afterwards half of the samples are in blocks above their
 * estimate. Out of order it stays relative. 0, or -ENOMEM.
 */
int frequency_scale_to_estimates(struct frequency_estimation *estimation, const double *estimates);

/* The confidence of an estimate with this uncertainty; each estimator has its own bounds. */
static inline uint8_t
frequency_confidence_of(double uncertainty, double high, double medium)
{
	if (uncertainty <= high)
		return CONFIDENCE_HIGH;
	return uncertainty <= medium ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

#endif
