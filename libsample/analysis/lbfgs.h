/*
 * lbfgs.h - a local minimum of a smooth function of many variables
 *
 * L-BFGS (Liu and Nocedal 1989) of liblbfgs, each step by its backtracking line search for the weak Wolfe conditions.
 * No state: any thread.
 */
#ifndef DCPI_ANALYSIS_LBFGS_H
#define DCPI_ANALYSIS_LBFGS_H

#include <stddef.h>

/* The function's value at `x`; writes its derivative by each variable. */
typedef double lbfgs_function(void *argument, const double *x, double *gradient);

struct lbfgs_problem {
	lbfgs_function *function;
	void *argument;
	size_t count;             /* variables */
	unsigned evaluations_max; /* of the function */
	double tolerance;         /* three steps in a row that gain less than this part of the value are the end */
};

/*
 * Move `x` to where the function is least; *evaluations (NULL: not wanted) is how often it was called. 0, also when
 * evaluations_max ended it; -ENOMEM; -EINVAL when the function is no number where it begins.
 */
int lbfgs_minimize(const struct lbfgs_problem *problem, double *x, unsigned *evaluations);

#endif
