#include "dcpi-tools/diff/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"

void
side_count_add(struct side_count *to, const struct side_count *more)
{
	to->count += more->count;
	to->taken += more->taken;
}

/*
 * As many samples as there would be if those that were taken had the share of them that, weighted, they have of the
 * total: the share is that of events, and it is known as well as so many samples tell it. Without weights: the total.
 */
static double
whole_of(const struct side_count *samples, const struct side_count *total)
{
	if (samples->count == 0 || samples->taken == 0)
		return (double)total->taken;
	return (double)total->count * ((double)samples->taken / (double)samples->count);
}

/* What a sample that was taken weighs; that of the side's average where none was. */
static double
weight_of(const struct side_count *samples, const struct side_count *total)
{
	const struct side_count *of = samples->taken > 0 ? samples : total;

	return of->taken > 0 ? (double)of->count / (double)of->taken : 1;
}

void
comparison_make(const struct scale *scale, const struct side_count samples[2], struct comparison *comparison)
{
	uint64_t taken[2], wholes[2];
	double weights[2] = {1, 1};

	*comparison = (struct comparison){.samples = {samples[0], samples[1]}};
	for (unsigned side = 0; side < 2; side++) {
		if (scale->weights[0] > 0 && scale->weights[1] > 0)
			weights[side] = scale->weights[side];
		if (scale->totals[side].count > 0)
			comparison->shares[side] = (double)samples[side].count / (double)scale->totals[side].count;
		if (scale->runs[side] > 0)
			weights[side] /= (double)scale->runs[side];
		comparison->amounts[side] = (double)samples[side].count * weights[side];
		taken[side] = samples[side].taken;
		wholes[side] = (uint64_t)llround(whole_of(&samples[side], &scale->totals[side]));
		weights[side] *= weight_of(&samples[side], &scale->totals[side]);
	}
	comparison->change = comparison->shares[1] - comparison->shares[0];
	comparison->bound = interval_difference(taken, wholes, scale->z);
	comparison->chance = interval_chance(taken, wholes);
	comparison->times_bound = interval_ratio(taken, weights, scale->z);
	if (comparison->amounts[0] > 0)
		comparison->times = comparison->amounts[1] / comparison->amounts[0];
	else if (comparison->amounts[1] > 0)
		comparison->times = INFINITY;
}

static struct comparison *
nth(const struct comparisons *comparisons, size_t index)
{
	return (struct comparison *)((char *)comparisons->first + comparisons->stride * index);
}

/* Two independent reasons to differ: their distances are added as squares. */
static void
widen(struct comparison *comparison, const struct variation_difference *noise)
{
	struct interval *bound = &comparison->bound, *times = &comparison->times_bound;

	bound->least = fmax(comparison->change - hypot(comparison->change - bound->least, noise->change), -1);
	bound->most = fmin(comparison->change + hypot(bound->most - comparison->change, noise->change), 1);
	if (times->least > 0)
		times->least = comparison->times * exp(-hypot(log(comparison->times / times->least), noise->ratio));
	if (comparison->times > 0)
		times->most = comparison->times * exp(hypot(log(times->most / comparison->times), noise->ratio));
	comparison->chance = fmax(comparison->chance, noise->p);
}

int
comparisons_add_noise(const struct scale *scale, const struct comparisons *comparisons, struct variation *variation)
{
	const size_t runs = scale->run_count, cells = comparisons->count * runs;
	struct variation_difference *rows = calloc(comparisons->count + 1, sizeof(*rows));
	uint64_t *counts = calloc(cells + 1, sizeof(*counts));
	double *totals = calloc(cells + 1, sizeof(*totals));
	int err = rows && counts && totals ? 0 : -ENOMEM;

	*variation = (struct variation){0};
	for (size_t i = 0; i < comparisons->count && !err; i++) {
		rows[i].counts = counts + i * runs;
		rows[i].totals = totals + i * runs;
	}
	for (size_t cell = 0; cell < cells && !err; cell++) {
		const struct side_count *samples = &nth(comparisons, cell / runs)->runs[cell % runs];

		counts[cell] = samples->taken;
		totals[cell] = whole_of(samples, &scale->run_totals[cell % runs]);
	}
	if (!err && runs > 0)
		err = variation_compare(&scale->noise, rows, comparisons->count, variation);
	for (size_t i = 0; i < comparisons->count && !err && runs > 0; i++)
		widen(nth(comparisons, i), &rows[i]);
	free(totals);
	free(counts);
	free(rows);
	return err;
}

int
comparisons_judge(const struct comparisons *comparisons, double alpha, size_t *marked)
{
	double *chances = calloc(comparisons->count + 1, sizeof(*chances));
	int err = chances ? 0 : -ENOMEM;

	*marked = 0;
	for (size_t i = 0; i < comparisons->count && !err; i++)
		chances[i] = nth(comparisons, i)->chance;
	if (!err)
		err = statistics_holm(chances, comparisons->count);
	for (size_t i = 0; i < comparisons->count && !err; i++) {
		struct comparison *judged = nth(comparisons, i);

		judged->chance = chances[i];
		judged->is_marked = chances[i] <= alpha;
		*marked += judged->is_marked;
	}
	free(chances);
	return err;
}
