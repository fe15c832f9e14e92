#include "analysis/effective.h"

#include <math.h>

static double
unit_of(const struct effective_sample *sample)
{
	return sample->unit > 0 ? sample->unit : 1;
}

void
effective_weigh(struct effective_sample *samples, size_t count)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		const double unit = unit_of(&samples[i]);

		sum += samples[i].is_random ? (double)samples[i].count * unit : 0;
		squares += samples[i].is_random ? samples[i].squares * unit * unit : 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct effective_sample *sample = &samples[i];

		if (sample->is_random && sum > 0)
			sample->weight = squares / sum / unit_of(sample);
		else if (sample->count > 0)
			sample->weight = sample->squares / (double)sample->count;
		if (sample->taken > 0)
			sample->weight = fmax(sample->weight, (double)sample->count / (double)sample->taken);
		if (!(sample->weight > 0))
			sample->weight = 1;
	}
}

void
effective_weigh_parts(struct effective_sample *samples, struct effective_sample *others, size_t count)
{
	double part = 0, whole = 0;

	effective_weigh(samples, count);
	effective_weigh(others, count);
	for (size_t i = 0; i < count; i++) {
		part += (double)samples[i].count * unit_of(&samples[i]);
		whole += ((double)samples[i].count + (double)others[i].count) * unit_of(&samples[i]);
	}
	for (size_t i = 0; i < count && whole > 0; i++)
		samples[i].weight += part / whole * fmax(others[i].weight - samples[i].weight, 0);
}

struct effective_sample
effective_rest(const struct effective_sample *whole, const struct effective_sample *part)
{
	struct effective_sample rest = *whole;

	rest.count -= part->count < rest.count ? part->count : rest.count;
	rest.taken -= part->taken < rest.taken ? part->taken : rest.taken;
	rest.squares = rest.count > 0 ? fmax(rest.squares - part->squares, 0) : 0;
	return rest;
}
