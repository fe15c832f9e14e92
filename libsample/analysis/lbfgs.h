/*
 * lbfgs.h - a local minimum of a smooth function of many variables
 *
 * L-BFGS (Liu and Nocedal 1989) by liblbfgs, with its backtracking line search for the weak Wolfe conditions. No state:
 * any thread.
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
	double tolerance;         /* stop after three successive steps that gain less than this part of the value */
};

/*
 * Move `x` to a local minimum of the function; *evaluations (NULL: not wanted) becomes how often it was called. 0, also
 * when evaluations_max ended the search; -ENOMEM; -EINVAL when the function's first value is not a number.
 */
int lbfgs_minimize(const struct lbfgs_problem *problem, double *x, unsigned *evaluations);

#endif
