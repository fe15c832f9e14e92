/*
 * markov.h - how often each state of a Markov chain is visited, again and again with other probabilities
 *
 * The chain leaves its origin and comes back: visits are those between, 1 of the origin. It is planned once, and then
 * worked out for one set of probabilities after the other, which is quick: an optimiser asks hundreds of times. By
 * elimination that never subtracts (Grassmann, Taksar and Heyman 1985), like analysis/stationary.h.
 * Thread rule: one thread per chain.
 */
#ifndef DCPI_ANALYSIS_MARKOV_H
#define DCPI_ANALYSIS_MARKOV_H

#include <stddef.h>
#include <stdint.h>

struct markov;

struct markov_way {
	uint32_t from, to; /* states; there may be several between two, and some to where they come from */
};

/*
 * 0 with *markov (markov_free() it); -EINVAL for a state that is none, -ENOMEM, -E2BIG when elimination would take more
 * than `steps_max` multiplications.
 */
int markov_plan(const struct markov_way *ways, size_t way_count, size_t state_count, uint32_t origin, size_t steps_max,
                struct markov **markov);
void markov_free(struct markov *markov); /* NULL is allowed */

size_t markov_steps(const struct markov *markov); /* multiplications, each time */

/*
 * `probabilities`: of each way; those from one state sum to 1. Visits of each state; 0 of those that nothing leads to
 * or that nothing leads away from.
 */
void markov_visits(struct markov *markov, const double *probabilities, double *visits);

/*
 * After markov_visits(), with the same probabilities: if each visit of a state is worth `rewards` of it, what is still
 * to come from each state on, until the origin, which is worth nothing. -- The derivative of the sum of visits x
 * rewards by a probability is the visits of its `from` x the value of its `to`, if the other probabilities stay as they
 * are.
 */
void markov_values(struct markov *markov, const double *rewards, double *values);

#endif
