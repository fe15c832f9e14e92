#include "analysis/lbfgs.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX       12   /* steps that are kept */
#define ARMIJO          1e-4 /* weak Wolfe conditions: the value falls by so much of what the slope promises, */
#define CURVATURE       0.9  /* and the slope becomes so much flatter */
#define LINE_SEARCH_MAX 30   /* evaluations of one line search */
#define SMALL_STEPS     3    /* consecutive steps below the tolerance that end the search */

/* A step and how the gradient changed by it. */
struct lbfgs_pair {
	double *step, *change;
	double curvature; /* 1 / (step x change) */
	double alpha;     /* of the step in the direction, in the two-loop recursion */
};

struct lbfgs {
	const struct lbfgs_problem *problem;
	double *x, *gradient, *direction;
	double *next, *next_gradient;
	double value;
	struct lbfgs_pair pairs[PAIRS_MAX]; /* the oldest is overwritten */
	size_t pair_count;                  /* that were stored, overwritten ones included */
	unsigned evaluations;
	double *memory;
};

static double
dot(const double *a, const double *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static void
add_scaled(double *to, double factor, const double *vector, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] += factor * vector[i];
}

static bool
lbfgs_init(struct lbfgs *lbfgs, const struct lbfgs_problem *problem, double *x)
{
	const size_t count = problem->count;
	double *at = calloc((4 + 2 * PAIRS_MAX) * count + 1, sizeof(*at));

	*lbfgs = (struct lbfgs){.problem = problem, .x = x, .memory = at};
	if (!at)
		return false;
	lbfgs->gradient = at;
	lbfgs->direction = at + count;
	lbfgs->next = at + 2 * count;
	lbfgs->next_gradient = at + 3 * count;
	for (size_t i = 0; i < PAIRS_MAX; i++) {
		lbfgs->pairs[i].step = at + (4 + 2 * i) * count;
		lbfgs->pairs[i].change = at + (5 + 2 * i) * count;
	}
	return true;
}

static double
evaluate(struct lbfgs *lbfgs, const double *x, double *gradient)
{
	lbfgs->evaluations++;
	return lbfgs->problem->function(lbfgs->problem->argument, x, gradient);
}

/* The two-loop recursion: minus the gradient, times the approximate inverse Hessian. */
static void
set_direction(struct lbfgs *lbfgs)
{
	const size_t count = lbfgs->problem->count;
	const size_t known = lbfgs->pair_count < PAIRS_MAX ? lbfgs->pair_count : PAIRS_MAX;
	double scale = 1;

	memcpy(lbfgs->direction, lbfgs->gradient, count * sizeof(double));
	for (size_t i = 0; i < known; i++) {
		struct lbfgs_pair *pair = &lbfgs->pairs[(lbfgs->pair_count - 1 - i) % PAIRS_MAX];

		pair->alpha = pair->curvature * dot(pair->step, lbfgs->direction, count);
		add_scaled(lbfgs->direction, -pair->alpha, pair->change, count);
		if (i == 0)
			scale = 1 / (pair->curvature * dot(pair->change, pair->change, count));
	}
	if (known == 0)
		scale = 1 / fmax(1, sqrt(dot(lbfgs->gradient, lbfgs->gradient, count)));
	for (size_t i = 0; i < count; i++)
		lbfgs->direction[i] *= -scale;
	for (size_t i = known; i-- > 0;) {
		const struct lbfgs_pair *pair = &lbfgs->pairs[(lbfgs->pair_count - 1 - i) % PAIRS_MAX];
		const double beta = -pair->curvature * dot(pair->change, lbfgs->direction, count);

		add_scaled(lbfgs->direction, beta - pair->alpha, pair->step, count);
	}
}

static void
add_pair(struct lbfgs *lbfgs)
{
	const size_t count = lbfgs->problem->count;
	struct lbfgs_pair *pair = &lbfgs->pairs[lbfgs->pair_count % PAIRS_MAX];
	double product;

	for (size_t i = 0; i < count; i++) {
		pair->step[i] = lbfgs->next[i] - lbfgs->x[i];
		pair->change[i] = lbfgs->next_gradient[i] - lbfgs->gradient[i];
	}
	product = dot(pair->step, pair->change, count);
	if (!(product > 0)) {
		lbfgs->pair_count = 0;
		return;
	}
	pair->curvature = 1 / product;
	lbfgs->pair_count++;
}

/* To a point along the direction that fulfils the weak Wolfe conditions; false: none was found. */
static bool
line_search(struct lbfgs *lbfgs, double *value)
{
	const size_t count = lbfgs->problem->count;
	const double slope = dot(lbfgs->direction, lbfgs->gradient, count);
	double low = 0, high = INFINITY, length = 1;

	if (!(slope < 0))
		return false;
	for (int i = 0; i < LINE_SEARCH_MAX && lbfgs->evaluations < lbfgs->problem->evaluations_max; i++) {
		memcpy(lbfgs->next, lbfgs->x, count * sizeof(double));
		add_scaled(lbfgs->next, length, lbfgs->direction, count);
		*value = evaluate(lbfgs, lbfgs->next, lbfgs->next_gradient);
		if (!(*value <= lbfgs->value + ARMIJO * length * slope))
			high = length;
		else if (dot(lbfgs->direction, lbfgs->next_gradient, count) < CURVATURE * slope)
			low = length;
		else
			return true;
		length = isfinite(high) ? (low + high) / 2 : 2 * low;
	}
	return false;
}

int
lbfgs_minimize(const struct lbfgs_problem *problem, double *x, unsigned *evaluations)
{
	const size_t size = problem->count * sizeof(double);
	struct lbfgs lbfgs;
	int small = 0, err = 0;

	if (!lbfgs_init(&lbfgs, problem, x))
		return -ENOMEM;
	lbfgs.value = evaluate(&lbfgs, x, lbfgs.gradient);
	if (!isfinite(lbfgs.value))
		err = -EINVAL;
	while (small < SMALL_STEPS && !err) {
		double value;

		set_direction(&lbfgs);
		if (!line_search(&lbfgs, &value))
			break;
		add_pair(&lbfgs);
		small = lbfgs.value - value <= problem->tolerance * fabs(value) ? small + 1 : 0;
		lbfgs.value = value;
		memcpy(lbfgs.x, lbfgs.next, size);
		memcpy(lbfgs.gradient, lbfgs.next_gradient, size);
	}
	if (evaluations)
		*evaluations = lbfgs.evaluations;
	free(lbfgs.memory);
	return err;
}
