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
nth(struct comparison *first, size_t stride, size_t index)
{
	return (struct comparison *)((char *)first + stride * index);
}

int
comparisons_judge(struct comparison *comparison, size_t count, size_t stride, double alpha, size_t *changed)
{
	double *chances = calloc(count + 1, sizeof(*chances));
	int err = chances ? 0 : -ENOMEM;

	*changed = 0;
	for (size_t i = 0; i < count && !err; i++)
		chances[i] = nth(comparison, stride, i)->chance;
	if (!err)
		err = statistics_holm(chances, count);
	for (size_t i = 0; i < count && !err; i++) {
		struct comparison *judged = nth(comparison, stride, i);

		judged->chance = chances[i];
		judged->is_changed = chances[i] <= alpha;
		*changed += judged->is_changed;
	}
	free(chances);
	return err;
}
