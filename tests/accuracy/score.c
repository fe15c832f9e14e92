#include "tests/accuracy/score.h"

#include <math.h>
#include <stdlib.h>

const double score_limits[SCORE_LIMITS] = {0.05, 0.10, 0.15, 0.25, 0.50};

#define TENTH     0.10
#define TWENTIETH 0.05

/* Where the factors that bring an item within a tenth, or half of it, begin or end. */
struct bound {
	double factor;
	double tenth, twentieth; /* weight */
};

static int
compare_bounds(const void *a, const void *b)
{
	const struct bound *one = a, *other = b;
	const double weights[] = {one->tenth + one->twentieth, other->tenth + other->twentieth};

	if (one->factor != other->factor)
		return one->factor < other->factor ? -1 : 1;
	return (weights[0] < weights[1]) - (weights[0] > weights[1]); /* what begins goes first */
}

static double
best_of(struct bound *bounds, size_t count)
{
	double tenth = 0, twentieth = 0, best_tenth = 0, best_twentieth = 0, factor = 1, rounding = 0;

	qsort(bounds, count, sizeof(*bounds), compare_bounds);
	for (size_t i = 0; i < count; i++)
		rounding += 1e-12 * fabs(bounds[i].tenth);
	for (size_t i = 0; i + 1 < count; i++) {
		tenth += bounds[i].tenth;
		twentieth += bounds[i].twentieth;
		if (tenth < best_tenth - rounding ||
		    (tenth <= best_tenth + rounding && twentieth <= best_twentieth + rounding))
			continue;
		best_tenth = tenth;
		best_twentieth = twentieth;
		factor = (bounds[i].factor + bounds[i + 1].factor) / 2;
	}
	return factor;
}

double
score_best_scale(const struct score_item *items, size_t count)
{
	struct bound *bounds = calloc(4 * count + 1, sizeof(*bounds));
	double factor = 1;
	size_t bound_count = 0;

	for (size_t i = 0; i < count && bounds; i++) {
		const double right = items[i].truth / items[i].estimate, weight = items[i].weight;

		if (items[i].truth <= 0 || items[i].estimate <= 0 || weight <= 0)
			continue;
		bounds[bound_count++] = (struct bound){.factor = (1 - TENTH) * right, .tenth = weight};
		bounds[bound_count++] = (struct bound){.factor = (1 + TENTH) * right, .tenth = -weight};
		bounds[bound_count++] = (struct bound){.factor = (1 - TWENTIETH) * right, .twentieth = weight};
		bounds[bound_count++] = (struct bound){.factor = (1 + TWENTIETH) * right, .twentieth = -weight};
	}
	if (bound_count)
		factor = best_of(bounds, bound_count);
	free(bounds);
	return factor;
}

static double
error_of(const struct score_item *item, double scale)
{
	const double estimate = scale * item->estimate;

	if (item->truth <= 0)
		return estimate > 0 ? INFINITY : 0;
	return fabs(estimate / item->truth - 1);
}

static void
add_item(struct error_histogram *histogram, const struct score_item *item, double scale)
{
	const double error = error_of(item, scale);

	histogram->weight += item->weight;
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		if (error <= score_limits[k] * (1 + 1e-9))
			histogram->within[k] += item->weight;
	if (error == 0 || (2 * scale * item->estimate >= item->truth && scale * item->estimate <= 2 * item->truth))
		histogram->within_twice += item->weight;
}

static size_t
factor_index(double factor)
{
	const double steps = round(log(factor) / log(SCORE_STEP)), middle = (SCORE_FACTORS - 1) / 2.0;

	return (size_t)(middle + fmin(fmax(steps, -middle), middle));
}

double
score_factor(const struct accuracy_score *score, double share)
{
	double all = 0, sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < SCORE_FACTORS; i++)
		all += score->factors[i];
	if (all <= 0)
		return 0;
	while (at + 1 < SCORE_FACTORS && sum + score->factors[at] < share * all)
		sum += score->factors[at++];
	return pow(SCORE_STEP, (double)at - (SCORE_FACTORS - 1) / 2.0);
}

void
score_add(struct accuracy_score *score, const struct score_procedure *procedure)
{
	const double best = score_best_scale(procedure->blocks, procedure->block_count);

	for (size_t i = 0; i < procedure->block_count; i++) {
		const struct score_item *block = &procedure->blocks[i];

		add_item(&score->absolute, block, procedure->absolute);
		add_item(&score->relative, block, best);
		add_item(&score->by_confidence[block->confidence], block, best);
	}
	for (size_t i = 0; i < procedure->edge_count; i++) {
		const struct score_item *edge = &procedure->edges[i];

		add_item(&score->edges_absolute, edge, procedure->absolute);
		add_item(&score->edges_relative, edge, best);
		add_item(&score->edges_by_confidence[edge->confidence], edge, best);
	}
	if (procedure->absolute > 0)
		score->factors[factor_index(procedure->absolute / best)] += procedure->samples;
	score->procedures++;
	score->samples += procedure->samples;
}

double
histogram_percent(const struct error_histogram *histogram, size_t limit)
{
	return histogram->weight > 0 ? 100 * histogram->within[limit] / histogram->weight : 0;
}

void
score_add_program(struct accuracy_score *score, const struct score_item *blocks, size_t count)
{
	const double best = score_best_scale(blocks, count);

	for (size_t i = 0; i < count; i++)
		add_item(&score->program, &blocks[i], best);
}

/* `all`: the weight of what the histogram is a part of. */
static void
add_mean(struct error_histogram *mean, const struct error_histogram *histogram, const struct error_histogram *all)
{
	if (all->weight <= 0)
		return;
	mean->weight += histogram->weight / all->weight;
	for (size_t k = 0; k < SCORE_LIMITS; k++)
		mean->within[k] += histogram->within[k] / all->weight;
	mean->within_twice += histogram->within_twice / all->weight;
}

void
score_add_mean(struct accuracy_score *mean, const struct accuracy_score *score)
{
	add_mean(&mean->absolute, &score->absolute, &score->absolute);
	add_mean(&mean->relative, &score->relative, &score->relative);
	add_mean(&mean->program, &score->program, &score->program);
	add_mean(&mean->edges_absolute, &score->edges_absolute, &score->edges_absolute);
	add_mean(&mean->edges_relative, &score->edges_relative, &score->edges_relative);
	for (size_t i = 0; i <= CONFIDENCE_EXACT; i++) {
		add_mean(&mean->by_confidence[i], &score->by_confidence[i], &score->relative);
		add_mean(&mean->edges_by_confidence[i], &score->edges_by_confidence[i], &score->edges_relative);
	}
	for (size_t i = 0; i < SCORE_FACTORS && score->samples > 0; i++)
		mean->factors[i] += score->factors[i] / score->samples;
	mean->procedures += score->procedures;
	mean->samples += score->samples;
}
