#include "dcpi-tools/diff/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/effective.h"
#include "analysis/statistics.h"

void
compare_count_add(struct compare_count *to, const struct compare_count *more)
{
	to->count += more->count;
	to->taken += more->taken;
	to->squares += more->squares;
}

/* Split a total into `samples` and the rest. Without samples, the weight of one is that of the total on average. */
static void
split_total(const struct compare_count *samples, const struct compare_count *total, double unit, bool is_random,
            struct effective_sample *part, struct effective_sample *rest)
{
	const struct effective_sample whole = {
		.count = total->count,
		.taken = total->taken,
		.squares = total->squares,
		.unit = unit,
		.is_random = is_random,
		.weight = total->count > 0 ? total->squares / (double)total->count : 0,
	};

	*part = whole;
	part->count = samples->count;
	part->taken = samples->taken;
	part->squares = samples->squares;
	*rest = effective_rest(&whole, part);
}

void
compare_make(const struct compare_scale *scale, const struct compare_count samples[2],
             struct diff_comparison *comparison)
{
	struct effective_sample own[2], rest[2];
	double weights[2], parts[2], wholes[2], alone[2];
	uint64_t rounded_parts[2], rounded_wholes[2];

	*comparison = (struct diff_comparison){.samples = {samples[0], samples[1]}};
	for (unsigned side = 0; side < 2; side++)
		split_total(&samples[side], &scale->totals[side], scale->weights[side], scale->is_random[side],
		            &own[side], &rest[side]);
	effective_weigh(own, 2);
	for (unsigned side = 0; side < 2; side++) {
		alone[side] = (double)samples[side].count / own[side].weight;
		weights[side] = own[side].weight;
	}
	effective_weigh_parts(own, rest, 2);
	for (unsigned side = 0; side < 2; side++) {
		const double unit = scale->weights[0] > 0 && scale->weights[1] > 0 ? scale->weights[side] : 1;
		const double worth = scale->runs[side] > 0 ? unit / (double)scale->runs[side] : unit;

		if (scale->totals[side].count > 0)
			comparison->shares[side] = (double)samples[side].count / (double)scale->totals[side].count;
		comparison->amounts[side] = (double)samples[side].count * worth;
		weights[side] *= worth;
		/* effective samples of the part and of the whole: their share is unchanged */
		parts[side] = (double)samples[side].count / own[side].weight;
		wholes[side] = (double)scale->totals[side].count / own[side].weight;
		rounded_parts[side] = (uint64_t)llround(parts[side]);
		rounded_wholes[side] = (uint64_t)llround(wholes[side]);
	}
	comparison->change = comparison->shares[1] - comparison->shares[0];
	comparison->bound = statistics_difference_interval(parts, wholes, scale->z);
	comparison->chance = statistics_fisher_exact(rounded_parts, rounded_wholes);
	comparison->times_bound = statistics_ratio_interval(alone, weights, scale->z);
	if (comparison->amounts[0] > 0)
		comparison->times = comparison->amounts[1] / comparison->amounts[0];
	else if (comparison->amounts[1] > 0)
		comparison->times = INFINITY;
}

static struct diff_comparison *
nth(const struct compare_rows *comparisons, size_t index)
{
	return (struct diff_comparison *)((char *)comparisons->first + comparisons->stride * index);
}

/* Two independent reasons to differ: their distances are added as squares. */
static void
widen(struct diff_comparison *comparison, const struct variation_difference *noise)
{
	struct statistics_interval *bound = &comparison->bound, *times = &comparison->times_bound;

	bound->least = fmax(comparison->change - hypot(comparison->change - bound->least, noise->change), -1);
	bound->most = fmin(comparison->change + hypot(bound->most - comparison->change, noise->change), 1);
	if (times->least > 0)
		times->least = comparison->times * exp(-hypot(log(comparison->times / times->least), noise->ratio));
	if (comparison->times > 0)
		times->most = comparison->times * exp(hypot(log(times->most / comparison->times), noise->ratio));
	comparison->chance = fmax(comparison->chance, noise->p);
}

int
compare_add_noise(const struct compare_scale *scale, const struct compare_rows *comparisons,
                  struct variation *variation)
{
	const size_t runs = scale->run_count, cells = comparisons->count * runs;
	struct variation_difference *rows = calloc(comparisons->count + 1, sizeof(*rows));
	uint64_t *counts = calloc(cells + 1, sizeof(*counts));
	double *totals = calloc(cells + 1, sizeof(*totals));
	struct effective_sample *own = calloc(runs + 1, sizeof(*own)), *rest = calloc(runs + 1, sizeof(*rest));
	int err = 0;

	*variation = (struct variation){0};
	if (!rows || !counts || !totals || !own || !rest) {
		err = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < comparisons->count; i++) {
		rows[i].counts = counts + i * runs;
		rows[i].totals = totals + i * runs;
		for (size_t run = 0; run < runs; run++)
			split_total(&nth(comparisons, i)->runs[run], &scale->run_totals[run], scale->run_units[run],
			            scale->is_random[scale->noise.is_after[run]], &own[run], &rest[run]);
		effective_weigh_parts(own, rest, runs);
		for (size_t run = 0; run < runs; run++) {
			counts[i * runs + run] = (uint64_t)llround((double)own[run].count / own[run].weight);
			/* a part that was rounded up is no more than the whole */
			totals[i * runs + run] = fmax((double)scale->run_totals[run].count / own[run].weight,
			                              (double)counts[i * runs + run]);
		}
	}
	if (runs > 0)
		err = variation_compare(&scale->noise, rows, comparisons->count, variation);
	for (size_t i = 0; i < comparisons->count && !err && runs > 0; i++)
		widen(nth(comparisons, i), &rows[i]);
out:
	free(rest);
	free(own);
	free(totals);
	free(counts);
	free(rows);
	return err;
}

int
compare_adjust(const struct compare_rows *comparisons, double alpha, size_t *marked)
{
	double *chances = calloc(comparisons->count + 1, sizeof(*chances));
	int err;

	*marked = 0;
	if (!chances)
		return -ENOMEM;
	for (size_t i = 0; i < comparisons->count; i++)
		chances[i] = nth(comparisons, i)->chance;
	err = statistics_holm(chances, comparisons->count);
	for (size_t i = 0; i < comparisons->count && !err; i++) {
		struct diff_comparison *judged = nth(comparisons, i);

		judged->chance = chances[i];
		judged->is_marked = chances[i] <= alpha;
		*marked += judged->is_marked;
	}
	free(chances);
	return err;
}
