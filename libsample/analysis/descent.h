/*
 * descent.h - the least value of a smooth function of many variables, near where it is begun
 *
 * L-BFGS (Liu and Nocedal 1989), each step by a search that ends where the slope has become flatter (Lewis and Overton
 * 2013). No state: any thread.
 */
#ifndef DCPI_ANALYSIS_DESCENT_H
#define DCPI_ANALYSIS_DESCENT_H

#include <stddef.h>

/* The function's value at `x`; writes its derivative by each variable. */
typedef double descent_function(void *argument, const double *x, double *gradient);

struct descent {
	descent_function *function;
	void *argument;
	size_t count;             /* variables */
	unsigned evaluations_max; /* of the function */
	double tolerance;         /* three steps in a row that gain less than this part of the value are the end */
};

/*
 * Move `x` to where the function is least; *evaluations (NULL: not wanted) is how often it was asked. 0, also when
 * evaluations_max ended it; -ENOMEM; -EINVAL when the function is no number where it begins.
 */
int descent_minimize(const struct descent *descent, double *x, unsigned *evaluations);

#endif
