/*
 * markov.h - how often each state of a Markov chain is visited
 *
 * The chain leaves its origin and comes back: visits are those between, 1 of the origin. By state elimination that
 * never subtracts (Grassmann, Taksar and Heyman, Operations Research 33(5), 1985), so that a loop with an exit of one
 * in a million is as exact as any other. markov_plan() eliminates symbolically once, states with few neighbours first,
 * so that the chain of a program stays sparse; markov_visits() works out each set of probabilities by that plan, for
 * an optimiser that evaluates hundreds of them.
 * Thread rule: one thread per struct markov.
 */
#ifndef DCPI_ANALYSIS_MARKOV_H
#define DCPI_ANALYSIS_MARKOV_H

#include <stddef.h>
#include <stdint.h>

struct markov;

struct markov_edge {
	uint32_t from, to; /* states; several may connect two states, and some a state to itself */
};

/*
 * 0 with *markov (markov_free() it); -EINVAL for a state that is none, -ENOMEM, -E2BIG when elimination would take more
 * than `multiplications_max` multiplications.
 */
int markov_plan(const struct markov_edge *edges, size_t edge_count, size_t state_count, uint32_t origin,
                size_t multiplications_max, struct markov **markov);
void markov_free(struct markov *markov); /* NULL is allowed */

size_t markov_multiplications(const struct markov *markov); /* of each markov_visits() */

/*
 * `probabilities`: of each edge; those from one state sum to 1. Visits of each state; 0 of a state that cannot be
 * reached, or from which nothing leads away.
 */
void markov_visits(struct markov *markov, const double *probabilities, double *visits);

/*
 * After markov_visits(), with its probabilities: if each visit of a state is worth `rewards` of it, what is still to
 * come from each state on, until the origin, which is worth nothing. -- The derivative of the sum of visits x rewards
 * by a probability is the visits of its `from` x the value of its `to`, if the other probabilities stay as they are.
 */
void markov_values(struct markov *markov, const double *rewards, double *values);

#endif
