/*
 * frequency_private.h - what the ways to estimate frequencies share
 *
 * Each way fills in blocks and edges of the result that have no value yet, and leaves those alone that have.
 */
#ifndef DCPI_ANALYSIS_FREQUENCY_PRIVATE_H
#define DCPI_ANALYSIS_FREQUENCY_PRIVATE_H

#include "analysis/frequency.h"

struct estimation {
	const struct frequency_input *input;
	const struct flow_graph *graph;
	struct frequencies *result;
	double *minimum;         /* M per instruction, never negative */
	double width;            /* instructions a cycle */
	double longest_stall;    /* cycles */
	uint32_t *block_classes; /* by identity where the input has none */
	uint32_t *edge_classes;
	size_t class_count;
};

/* 0, or -ENOMEM; afterwards all of the result has a value, or confidence none where nothing is known. */
int estimate_in_order(struct estimation *estimation);
int estimate_out_of_order(struct estimation *estimation);
int
estimate_from_samples(struct estimation *estimation); /* of the two the one that fits the pipeline, if there are any */

/* 0, or -ENOMEM; nothing is filled in when the source says nothing. */
int estimate_counted(struct estimation *estimation);
int estimate_paths(struct estimation *estimation, const struct frequency_paths *paths, enum frequency_method method);
int estimate_retired(struct estimation *estimation);

/*
 * Blocks and edges whose value is not known, or not well, from all others. `deviations`: how far each block's value may
 * be off, either way, in units of F, above 0; NULL: what its confidence means, and rather too much. 0, or -ENOMEM.
 */
int settle(struct estimation *estimation, const double *deviations);

/*
 * What flows into a block flows out of it: where all but one of the edges at one side of a block are known, the last
 * is what they leave, and never negative; a block without a value is the sum of one side. In linear time.
 */
int propagate(struct estimation *estimation);

/*
 * Samples of blocks: where those that run equally often have few each, their sum is shared among them by their costs.
 * 0, or -ENOMEM, the samples then as they were.
 */
int pool_few_samples(const struct estimation *estimation, const double *costs, double *samples);

#define TYPICAL 1.7 /* measured: half of the samples are in blocks that take more times their retirement than this */

/* Cycles that an execution of a block takes out of order, about. */
static inline double
typical_cost(const struct estimation *estimation, const struct flow_block *block)
{
	return TYPICAL * block->count / estimation->width;
}

/* How much a block should run, and what a deviation costs. */
struct fit_target {
	double value;        /* F; not negative */
	double below, above; /* cost for each unit that it is less, or more; not negative */
	double slack;        /* so far from `value`, as a part of it, a deviation costs a quarter; 0 to below 1 */
};

/*
 * The flow through the graph with the least cost, from one target per block. Writes one value per block and per edge.
 * Edges that the blocks leave open are shared as evenly as the blocks allow. 0; -ENOMEM; -EAGAIN: it took too many
 * steps, and the values are near that flow.
 */
int fit_flow(const struct flow_graph *graph, const struct fit_target *targets, double *blocks, double *edges);

struct likely_flow;

/* What a flow is looked for by, of blocks: samples, and the cycles that an execution is thought to cost. */
struct block_times {
	const double *samples, *costs;
};

/*
 * The likeliest flow through the graph, as analysis/frequency_likely.c has it: one value per block and per edge. A
 * search begins where likely_flow_keep() was called last. 0; -ENOMEM; -EAGAIN: it took too many steps, and the flow is
 * nearly the likeliest.
 */
int likely_flow_find(struct likely_flow *flow, const struct block_times *times, double *blocks, double *edges);

void likely_flow_keep(struct likely_flow *flow);

/* Whether so many searches from there on take about a second at most. */
bool likely_flow_is_quick(const struct likely_flow *flow, unsigned searches);

/* 0; -ENOMEM; -E2BIG: the graph is too entangled. */
int likely_flow_new(const struct flow_graph *graph, struct likely_flow **flow);
void likely_flow_free(struct likely_flow *flow); /* NULL is allowed */

/*
 * How far the values of a flow that was found, per block and per edge, would be off if costs were others than they are
 * thought to be: means of |natural logarithm| over some trials, relative to the rest of the procedure. Up to 3. 0;
 * -ENOMEM; -E2BIG: it would take too long.
 */
struct flow_values {
	const double *blocks, *edges;
};
int likely_flow_doubt(struct likely_flow *flow, const struct estimation *estimation, const struct block_times *times,
                      const struct flow_values *found, double *block_doubts, double *edge_doubts);

/* Edges as even as the blocks allow, where they allow it; elsewhere as they were. 0, or -ENOMEM. */
int fit_spread(const struct flow_graph *graph, const double *blocks, double *edges);

/* Move samples back by the input's skid, over the edges by their values. `scratch`: one per instruction, like
 * `samples`. */
void skid_move_back(const struct frequency_input *input, const double *edges, double *samples, double *scratch);

/* The result's samples, moved back over the result's edges. 0, or -ENOMEM. */
int undo_skid(struct estimation *estimation);

/* Scale the result by its samples, where nobody says what a value is worth. 0, or -ENOMEM. */
int scale_to_samples(struct estimation *estimation);

/*
 * Scale it to what samples alone say of the blocks: half of the samples are in blocks that are above that. Out of order
 * that is nearer than scale_to_samples(), and relative all the same. 0, or -ENOMEM.
 */
int scale_to_estimates(struct estimation *estimation, const double *estimates);

#endif
