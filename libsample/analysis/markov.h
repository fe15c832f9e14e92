/*
 * markov.h - how often each state of a Markov chain is visited
 *
 * The chain leaves its origin and returns to it: visits are counted per such round, so the origin has 1. State
 * elimination that never subtracts (Grassmann, Taksar and Heyman, Operations Research 33(5), 1985) computes them, so a
 * loop with an exit probability of one in a million is as exact as any other. markov_plan() eliminates symbolically,
 * once, states with few neighbours first, so that the chain of a program stays sparse. markov_visits() evaluates one
 * set of probabilities by that plan; an optimiser evaluates hundreds of them.
 * Thread rule: one thread per struct markov.
 */
#ifndef DCPI_ANALYSIS_MARKOV_H
#define DCPI_ANALYSIS_MARKOV_H

#include <stddef.h>
#include <stdint.h>

struct markov;

struct markov_edge {
	uint32_t from, to; /* states; parallel edges and loops are allowed */
};

/*
 * 0 with *markov (markov_free() it); -EINVAL for a state that is not below state_count, -ENOMEM, -E2BIG when
 * elimination would take more than `multiplications_max` multiplications.
 */
int markov_plan(const struct markov_edge *edges, size_t edge_count, size_t state_count, uint32_t origin,
                size_t multiplications_max, struct markov **markov);
void markov_free(struct markov *markov); /* NULL is allowed */

size_t markov_multiplications(const struct markov *markov); /* of each markov_visits() */

/*
 * Find the visits of each state; 0 for a state that cannot be reached, or has no way out. `probabilities`: of each
 * edge; those of the edges from one state sum to 1.
 */
void markov_visits(struct markov *markov, const double *probabilities, double *visits);

/*
 * After markov_visits(), with its probabilities: if each visit of state i earns rewards[i], values[i] is the expected
 * sum of rewards from state i on until the origin, whose value is 0. So the derivative of the sum of visits x rewards
 * by the probability of an edge is the visits of its `from` x the value of its `to`, with the other probabilities
 * constant.
 */
void markov_values(struct markov *markov, const double *rewards, double *values);

#endif
