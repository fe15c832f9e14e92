/*
 * What a cycle of the model is worth where frequencies are right only relative to one another.
 *
 * At least: instructions that have no reason to stall took what the model says. At most: no block took less than its
 * best case, nor did the procedure.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/stalls_private.h"

#define LEAST_SHARE 0.02 /* of a procedure's time that is no stall */

static double
frequency_of(const struct elimination *elimination, uint32_t block)
{
	const struct frequency *frequency = &elimination->input->frequencies->blocks[block];

	return frequency->confidence != CONFIDENCE_NONE && isfinite(frequency->value) ? frequency->value : 0;
}

/* No reason but that its operation is slow, which the best case has in it. */
static bool
is_certain(struct elimination *elimination, uint32_t block, uint32_t index)
{
	struct suspect suspects[CAUSE_COUNT];

	suspects_find(elimination, block, index, suspects);
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && i != CAUSE_OTHER)
			return false;
	return true;
}

/* What a cycle of the best case is worth, by those that cannot have stalled. */
double
find_scale(struct elimination *elimination)
{
	double samples = 0, cycles = 0, all_samples = 0, all_cycles = 0, scale;

	for (uint32_t block = 0; block < elimination->graph->block_count; block++) {
		const double frequency = frequency_of(elimination, block);
		const struct flow_block *at = &elimination->graph->blocks[block];

		for (uint32_t i = 0; i < at->count && frequency > 0; i++) {
			const struct instruction_stalls *time = &elimination->result->instructions[at->first + i];

			all_samples += time->cycles * frequency;
			all_cycles += time->least_cycles * frequency;
			if (!is_certain(elimination, block, i))
				continue;
			samples += time->cycles * frequency;
			cycles += time->least_cycles * frequency;
		}
	}
	if (!(all_cycles > 0) || !isfinite(all_samples / all_cycles))
		return 1;
	scale = cycles > 0 ? samples / cycles : 0;
	scale = fmax(scale, LEAST_SHARE * all_samples / all_cycles);
	return fmin(scale, all_samples / all_cycles);
}

static double
block_time(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = &elimination->graph->blocks[block];
	double cycles = 0;

	for (uint32_t i = at->first; i < at->first + at->count; i++)
		cycles += elimination->result->instructions[i].cycles;
	return cycles;
}

static double
ratio_or_infinity(double cycles, double best)
{
	return best > 0 && isfinite(cycles / best) ? cycles / best : INFINITY;
}

int
find_worth(struct elimination *elimination)
{
	const size_t count = elimination->graph->block_count;
	double time = 0, best = 0, whole;

	elimination->worth = calloc(count + 1, sizeof(*elimination->worth));
	if (!elimination->worth)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const double frequency = frequency_of(elimination, i);
		const double cycles = block_time(elimination, i), least = elimination->input->schedules[i].best_cycles;

		elimination->worth[i] = ratio_or_infinity(cycles, least);
		time += cycles * frequency;
		best += least * frequency;
	}
	whole = ratio_or_infinity(time, best);
	for (size_t i = 0; i < count; i++)
		elimination->worth[i] = fmax(elimination->worth[i], whole);
	return 0;
}
