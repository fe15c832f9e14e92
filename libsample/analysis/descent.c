#include "analysis/descent.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY    12 /* steps that are remembered */
#define DECREASE  1e-4
#define FLATTER   0.9
#define TRIES_MAX 30 /* of one search */
#define SMALL_ROW 3  /* steps */

/* A step and how the gradient changed by it. */
struct pair {
	double *step, *change;
	double curvature; /* 1 / (step x change) */
	double part;      /* of the step, in the direction that is being set */
};

struct search {
	const struct descent *descent;
	double *x, *gradient, *direction;
	double *next, *next_gradient;
	double value;
	struct pair pairs[MEMORY]; /* the oldest is overwritten */
	size_t pair_count;         /* ever */
	unsigned evaluations;
	double *room;
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
search_init(struct search *search, const struct descent *descent, double *x)
{
	const size_t count = descent->count;
	double *at = calloc((4 + 2 * MEMORY) * count + 1, sizeof(*at));

	*search = (struct search){.descent = descent, .x = x, .room = at};
	if (!at)
		return false;
	search->gradient = at;
	search->direction = at + count;
	search->next = at + 2 * count;
	search->next_gradient = at + 3 * count;
	for (size_t i = 0; i < MEMORY; i++) {
		search->pairs[i].step = at + (4 + 2 * i) * count;
		search->pairs[i].change = at + (5 + 2 * i) * count;
	}
	return true;
}

static double
evaluate(struct search *search, const double *x, double *gradient)
{
	search->evaluations++;
	return search->descent->function(search->descent->argument, x, gradient);
}

/* Against the gradient, bent by what is known of the curvature. */
static void
set_direction(struct search *search)
{
	const size_t count = search->descent->count;
	const size_t known = search->pair_count < MEMORY ? search->pair_count : MEMORY;
	double scale = 1;

	memcpy(search->direction, search->gradient, count * sizeof(double));
	for (size_t i = 0; i < known; i++) {
		struct pair *pair = &search->pairs[(search->pair_count - 1 - i) % MEMORY];

		pair->part = pair->curvature * dot(pair->step, search->direction, count);
		add_scaled(search->direction, -pair->part, pair->change, count);
		if (i == 0)
			scale = 1 / (pair->curvature * dot(pair->change, pair->change, count));
	}
	if (known == 0)
		scale = 1 / fmax(1, sqrt(dot(search->gradient, search->gradient, count)));
	for (size_t i = 0; i < count; i++)
		search->direction[i] *= -scale;
	for (size_t i = known; i-- > 0;) {
		const struct pair *pair = &search->pairs[(search->pair_count - 1 - i) % MEMORY];
		const double part = -pair->curvature * dot(pair->change, search->direction, count);

		add_scaled(search->direction, part - pair->part, pair->step, count);
	}
}

static void
remember(struct search *search)
{
	const size_t count = search->descent->count;
	struct pair *pair = &search->pairs[search->pair_count % MEMORY];
	double product;

	for (size_t i = 0; i < count; i++) {
		pair->step[i] = search->next[i] - search->x[i];
		pair->change[i] = search->next_gradient[i] - search->gradient[i];
	}
	product = dot(pair->step, pair->change, count);
	if (!(product > 0)) {
		search->pair_count = 0;
		return;
	}
	pair->curvature = 1 / product;
	search->pair_count++;
}

/* Along the direction to where the value has fallen and the slope is flatter; false: no such place was found. */
static bool
step_along(struct search *search, double *value)
{
	const size_t count = search->descent->count;
	const double slope = dot(search->direction, search->gradient, count);
	double low = 0, high = INFINITY, length = 1;

	if (!(slope < 0))
		return false;
	for (int i = 0; i < TRIES_MAX && search->evaluations < search->descent->evaluations_max; i++) {
		memcpy(search->next, search->x, count * sizeof(double));
		add_scaled(search->next, length, search->direction, count);
		*value = evaluate(search, search->next, search->next_gradient);
		if (!(*value <= search->value + DECREASE * length * slope))
			high = length;
		else if (dot(search->direction, search->next_gradient, count) < FLATTER * slope)
			low = length;
		else
			return true;
		length = isfinite(high) ? (low + high) / 2 : 2 * low;
	}
	return false;
}

static void
descend(struct search *search)
{
	const size_t size = search->descent->count * sizeof(double);
	int small = 0;

	while (small < SMALL_ROW) {
		double value;

		set_direction(search);
		if (!step_along(search, &value))
			return;
		remember(search);
		small = search->value - value <= search->descent->tolerance * fabs(value) ? small + 1 : 0;
		search->value = value;
		memcpy(search->x, search->next, size);
		memcpy(search->gradient, search->next_gradient, size);
	}
}

int
descent_minimize(const struct descent *descent, double *x, unsigned *evaluations)
{
	struct search search;
	int err = 0;

	if (!search_init(&search, descent, x))
		return -ENOMEM;
	search.value = evaluate(&search, x, search.gradient);
	if (isfinite(search.value))
		descend(&search);
	else
		err = -EINVAL;
	if (evaluations)
		*evaluations = search.evaluations;
	free(search.room);
	return err;
}
