/*
 * frequency_internal.h - what the estimators of frequencies share
 *
 * Each estimator fills in blocks and edges of the result that have no value yet, and leaves those alone that have.
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
	uint32_t *block_classes; /* by identity where the input has none */
	uint32_t *edge_classes;
	size_t class_count;
};

/* 0, or -ENOMEM; afterwards all of the result has a value, or confidence none where nothing is known. */
int frequency_estimate_in_order(struct frequency_estimation *estimation);
int frequency_estimate_out_of_order(struct frequency_estimation *estimation);

/* The estimator of these two that fits the pipeline; nothing is filled in where there are no samples. 0 or -ENOMEM. */
int frequency_estimate_by_time(struct frequency_estimation *estimation);

/* 0, or -ENOMEM; nothing is filled in when nothing was recorded, or the chain is too entangled. */
int frequency_estimate_paths(struct frequency_estimation *estimation, const uint64_t *seen,
                             enum frequency_method method);

/*
 * Fill in blocks and edges whose value is not known, or not well, from all others. `deviations`: how far each block's
 * value may be off, either way, in units of F, above 0; NULL: what its confidence means, and rather too much. 0, or
 * -ENOMEM.
 */
int frequency_complete(struct frequency_estimation *estimation, const double *deviations);

/*
 * Samples of blocks: where those that run equally often have few each, their sum is shared among them by their costs.
 * 0, or -ENOMEM, the samples then as they were.
 */
int frequency_pool(const struct frequency_estimation *estimation, const double *costs, double *samples);

#define FREQUENCY_TYPICAL 1.7 /* measured: half of the samples are in blocks that take more times their retirement */

/* Cycles that an execution of a block takes out of order, about. */
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

/* How much a block should run, and what a deviation costs. */
struct frequency_target {
	double value;        /* F; not negative */
	double below, above; /* cost for each unit that it is less, or more; not negative */
	double slack;        /* so far from `value`, as a part of it, a deviation costs a quarter; 0 to below 1 */
};

/*
 * The flow through the graph with the least cost, from one target per block. Writes one value per block and per edge.
 * Edges that the blocks leave open are shared as evenly as the blocks allow. 0; -ENOMEM; -EAGAIN: it took too many
 * steps, and the values are near that flow.
 */
int frequency_fit(const struct flow_graph *graph, const struct frequency_target *targets, double *blocks,
                  double *edges);

/* The maximum likelihood flow through a graph, as frequency_out_of_order.c has it. */
struct frequency_mle;

/* 0; -ENOMEM; -E2BIG: the graph is too entangled. */
int frequency_mle_new(const struct flow_graph *graph, struct frequency_mle **mle);
void frequency_mle_free(struct frequency_mle *mle); /* NULL is allowed */

/* What a flow is estimated from, of blocks: samples, and the cycles that an execution is thought to cost. */
struct block_times {
	const double *samples, *costs;
};

/*
 * One value per block and per edge. A search begins where frequency_mle_set_start() was called last. 0; -ENOMEM;
 * -EAGAIN: it took too many steps, and the flow is nearly the likeliest.
 */
int frequency_mle_find(struct frequency_mle *mle, const struct block_times *times, double *blocks, double *edges);
void frequency_mle_set_start(struct frequency_mle *mle); /* the flow that was found last */

struct flow_values {
	const double *blocks, *edges;
};

/*
 * How far the values of a flow that was found, per block and per edge, would be off if costs were others than they are
 * thought to be: means of |natural logarithm| over some trials, relative to the rest of the procedure. Up to 3. They
 * are added to what the arrays have. 0; -ENOMEM; -E2BIG: it would take too long.
 */
int frequency_mle_uncertainty(struct frequency_mle *mle, const struct frequency_estimation *estimation,
                              const struct block_times *times, const struct flow_values *found,
                              double *block_uncertainties, double *edge_uncertainties);

/*
 * Recorded pieces of paths as a Markov chain.
 *
 * The blocks of a procedure are the states, left to outside and entered again; how often each ran is its share of the
 * time in the long run. Where a recording begins depends on where time is spent, so how often a block was seen says
 * little; which edge it left by does. What was seen too rarely to say anything is taken from the samples of time, in
 * two places:
 *  - an edge's probability has the one that samples alone give for its prior, which is right within a factor of some
 *    e^PRIOR_DEVIATION;
 *  - a path ends anywhere with a small probability, as if it had been cut CUTS times, and begins again where samples
 *    are. Loops that control goes between less often than that are compared by the time spent in them.
 * Thread rule: one thread per chain.
 */
struct frequency_chain {
	struct workspace space; /* of the arrays below, but for `seen` */
	const struct flow_graph *graph;
	const uint64_t *seen;  /* per edge */
	double *prior;         /* per edge: its flow by samples alone; 0 everywhere: nothing is known */
	double *starts;        /* per block: its samples */
	double cut;            /* probability that a path is cut, per instruction */
	double *weights;       /* per edge: its probability, but for a factor of its block */
	struct markov *markov; /* of the edges that are possible, for all solutions; NULL: not solved yet */
};

/* 0 or -ENOMEM; frequency_chain_fini() is needed after both. */
int frequency_chain_init(struct frequency_chain *chain, const struct flow_graph *graph, const uint64_t *seen);
void frequency_chain_fini(struct frequency_chain *chain);

/* Probabilities and `cut` from what was seen, the prior and the starts, which the caller fills in. */
void frequency_chain_weigh(struct frequency_chain *chain);

/* How often each block ran, but for one factor. 0, -ENOMEM, -E2BIG for a chain that is too entangled. */
int frequency_chain_solve(struct frequency_chain *chain, double *shares);

/*
 * By how much, as a part of it, each share is uncertain against the others: the deviation of its logarithm, less what
 * half of the samples have in common, in other recordings as the chain expects them, with fewer cuts and with more.
 * 0, or an error of frequency_chain_solve().
 */
int frequency_chain_uncertainty(struct frequency_chain *chain, const double *shares, double *uncertainties);

/* Move samples back by the input's skid, over the edges by their values. `scratch`: one per instruction. */
void frequency_move_back(const struct frequency_input *input, const double *edges, double *samples, double *scratch);

/*
 * Scale the result to what samples alone say of the blocks: half of the samples are in blocks that are above that. Out
 * of order it stays relative. 0, or -ENOMEM.
 */
int frequency_scale_to_estimates(struct frequency_estimation *estimation, const double *estimates);

/* The confidence that an estimate of this uncertainty has: each estimator has bounds of its own. */
static inline uint8_t
frequency_confidence_of(double uncertainty, double high, double medium)
{
	if (uncertainty <= high)
		return CONFIDENCE_HIGH;
	return uncertainty <= medium ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
}

#endif
