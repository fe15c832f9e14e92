/*
 * stationary.h - how often each state of a Markov chain is visited in the long run
 *
 * By elimination of one state after the other, as Grassmann, Taksar and Heyman (Operations Research 33(5), 1985) do it:
 * nothing is ever subtracted, so that a loop with an exit of one in a million is as exact as any other. States with few
 * neighbours go first, so that the chain of a program stays sparse. No state: any thread.
 */
#ifndef DCPI_ANALYSIS_STATIONARY_H
#define DCPI_ANALYSIS_STATIONARY_H

#include <stddef.h>
#include <stdint.h>

struct transition {
	uint32_t from, to;
	double weight; /* above 0; those that leave a state are its probabilities, but for a factor */
};

/*
 * Visits of each of `count` states for each visit of `origin`, which must be reached from all. Two transitions between
 * the same states add up. 0; -EINVAL for one that points nowhere; -ENOMEM; -E2BIG for a chain that does not stay
 * sparse.
 */
int stationary_solve(const struct transition *transitions, size_t transition_count, size_t count, uint32_t origin,
                     double *visits);

#endif
