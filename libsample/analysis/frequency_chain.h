/*
 * frequency_chain.h - recorded pieces of paths as a Markov chain (private to this room)
 *
 * The blocks of a procedure are the states, left to outside and entered again; how often each ran is its share of the
 * time in the long run. Where a recording begins depends on where time is spent, so how often a block was seen says
 * little; which way it went from there does. What was seen too rarely to say anything is taken from the samples of
 * time, in two places:
 *  - a way's probability has the one that samples alone give for its prior, which is right within a factor of some
 *    e^PRIOR_DEVIATION;
 *  - a path ends anywhere with a small probability, as if it had been cut CUTS times, and begins again where samples
 *    are. Loops that control goes between less often than that are compared by the time spent in them.
 * Thread rule: one thread per chain.
 */
#ifndef DCPI_ANALYSIS_FREQUENCY_CHAIN_H
#define DCPI_ANALYSIS_FREQUENCY_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/flow_graph.h"

struct chain {
	const struct flow_graph *graph;
	const uint64_t *seen; /* per edge */
	double *prior;        /* per edge: its flow by samples alone; 0 everywhere: nothing is known */
	double *starts;       /* per block: its samples */
	double cut;           /* probability that a path is cut, per instruction */
	double *weights;      /* per edge: its probability, but for a factor of its block */
};

int chain_init(struct chain *chain, const struct flow_graph *graph, const uint64_t *seen); /* 0 or -ENOMEM */
void chain_fini(struct chain *chain); /* also when there was no memory for it */

/* Probabilities and `cut` from what was seen, the prior and the starts, which the caller fills in. */
void chain_weigh(struct chain *chain);

/* How often each block ran, but for one factor. 0, -ENOMEM, -E2BIG for a chain that is too entangled. */
int chain_solve(const struct chain *chain, double *shares);

/*
 * By how much, as a part of it, each share is uncertain against the others: the deviation of its logarithm, less what
 * half of the samples have in common, in other recordings as the chain expects them, with fewer cuts and with more.
 * 0, or an error of chain_solve().
 */
int chain_doubt(struct chain *chain, const double *shares, double *doubts);

/* The same of the share of an edge among those of its block, by how often it was seen. */
double chain_edge_doubt(const struct chain *chain, uint32_t edge);

#endif
