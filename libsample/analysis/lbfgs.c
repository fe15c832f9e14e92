#include "analysis/lbfgs.h"

#include <errno.h>
#include <lbfgs.h>
#include <math.h>
#include <string.h>

#define PAIRS           12 /* steps that are kept */
#define LINE_SEARCH_MAX 30 /* evaluations of one line search */
#define SMALL_STEPS     3  /* consecutive steps below the tolerance that end the search */

struct lbfgs_search {
	const struct lbfgs_problem *problem;
	unsigned evaluations;
	double value; /* at the point that the last step has reached */
	int small;    /* consecutive steps below the tolerance */
};

/*
 * liblbfgs cannot be stopped within a line search: once the function was called often enough every point is infinitely
 * bad, so that the search fails and goes back to where it began.
 */
static double
evaluate(void *instance, const double *x, double *gradient, int size, double step)
{
	struct lbfgs_search *search = instance;
	double value;

	(void)size;
	(void)step;
	if (search->evaluations >= search->problem->evaluations_max)
		return INFINITY;
	search->evaluations++;
	value = search->problem->function(search->problem->argument, x, gradient);
	if (search->evaluations == 1)
		search->value = value;
	return isnan(value) ? INFINITY : value;
}

/* lbfgs_progress_t: not zero ends the search. liblbfgs accepts every step where a gradient is not finite. */
static int /* NOLINTNEXTLINE(readability-function-size): liblbfgs has these parameters */
after_step(void *instance, const double *x, const double *gradient, double value, double x_norm, double gradient_norm,
           double step, int size, int iteration, int evaluations)
{
	struct lbfgs_search *search = instance;

	(void)x;
	(void)gradient;
	(void)x_norm;
	(void)step;
	(void)size;
	(void)iteration;
	(void)evaluations;
	search->small = search->value - value <= search->problem->tolerance * fabs(value) ? search->small + 1 : 0;
	search->value = value;
	return !isfinite(value) || !isfinite(gradient_norm) || search->small >= SMALL_STEPS;
}

int
lbfgs_minimize(const struct lbfgs_problem *problem, double *x, unsigned *evaluations)
{
	struct lbfgs_search search = {.problem = problem};
	double *aligned = lbfgs_malloc((int)problem->count);
	lbfgs_parameter_t parameters;
	int result;

	if (!aligned)
		return -ENOMEM;
	memcpy(aligned, x, problem->count * sizeof(*x));
	lbfgs_parameter_init(&parameters);
	parameters.m = PAIRS;
	parameters.epsilon = 0; /* after_step() decides */
	parameters.linesearch = LBFGS_LINESEARCH_BACKTRACKING_WOLFE;
	parameters.max_linesearch = LINE_SEARCH_MAX;
	result = lbfgs((int)problem->count, aligned, NULL, evaluate, after_step, &search, &parameters);
	if (isfinite(search.value))
		memcpy(x, aligned, problem->count * sizeof(*x));
	lbfgs_free(aligned);
	if (evaluations)
		*evaluations = search.evaluations;
	if (result == LBFGSERR_OUTOFMEMORY)
		return -ENOMEM;
	return isfinite(search.value) ? 0 : -EINVAL;
}
