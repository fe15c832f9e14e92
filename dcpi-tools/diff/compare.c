#include "dcpi-tools/diff/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"

void
comparison_make(const struct scale *scale, const uint64_t samples[2], struct comparison *comparison)
{
	double weights[2] = {1, 1};

	*comparison = (struct comparison){.samples = {samples[0], samples[1]}};
	for (unsigned side = 0; side < 2; side++) {
		if (scale->weights[0] > 0 && scale->weights[1] > 0)
			weights[side] = scale->weights[side];
		if (scale->totals[side] > 0)
			comparison->shares[side] = (double)samples[side] / (double)scale->totals[side];
		if (scale->runs[side] > 0)
			weights[side] /= (double)scale->runs[side];
		comparison->amounts[side] = (double)samples[side] * weights[side];
	}
	comparison->change = comparison->shares[1] - comparison->shares[0];
	comparison->bound = interval_difference(samples, scale->totals, scale->z);
	comparison->chance = interval_chance(samples, scale->totals);
	comparison->times_bound = interval_ratio(samples, weights, scale->z);
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
	struct variation_difference *rows = calloc(comparisons->count + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM;

	*variation = (struct variation){0};
	for (size_t i = 0; i < comparisons->count && !err; i++)
		rows[i].counts = nth(comparisons, i)->runs;
	if (!err && scale->run_count > 0)
		err = variation_compare(&scale->noise, rows, comparisons->count, variation);
	for (size_t i = 0; i < comparisons->count && !err && scale->run_count > 0; i++)
		widen(nth(comparisons, i), &rows[i]);
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
