/*
 * What each instruction took, had to take, and lost.
 *
 * In order, M of its schedule is what it had to take. Out of order, neighbours share what a block has to take in ways
 * that no model knows, so that only a block can be slower than its best case; the time beyond is that of those of its
 * instructions that have more than their share.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/stalls_private.h"
#include "code/schedule_parts.h"

#define STALL_CYCLES 0.5 /* less is within the errors: half a line of a listing */

static const struct flow_block *
block_of(const struct elimination *elimination, uint32_t block)
{
	return &elimination->graph->blocks[block];
}

static double *
fixed_of(const struct elimination *elimination, uint32_t block)
{
	return &elimination->result->fixed_cycles[(size_t)block * STALL_REASON_COUNT];
}

static double
frequency_of(const struct elimination *elimination, uint32_t block)
{
	const struct frequency *frequency = &elimination->input->frequencies->blocks[block];

	return frequency->confidence != CONFIDENCE_NONE && isfinite(frequency->value) ? frequency->value : 0;
}

static void
set_cycles(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = block_of(elimination, block);
	const double frequency = frequency_of(elimination, block);

	for (uint32_t i = at->first; i < at->first + at->count && frequency > 0; i++) {
		const double cycles = elimination->input->frequencies->samples[i] / frequency;

		elimination->result->instructions[i].cycles = isfinite(cycles) && cycles > 0 ? cycles : 0;
	}
}

/* A half-cycle for each instruction, as in a listing; what the static stalls do not add up to is for the slots. */
static void
time_in_order(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = block_of(elimination, block);
	const struct schedule *schedule = &elimination->input->schedules[block];
	const double line = elimination->pipeline->issue_width == 1 ? 1 : 0.5;
	double *fixed = fixed_of(elimination, block), rest;

	for (size_t i = 0; i < schedule->stall_count; i++)
		if (schedule->stalls[i].reason < STALL_REASON_COUNT)
			fixed[schedule->stalls[i].reason] += schedule->stalls[i].half_cycles / 2.0;
	elimination->result->issue_cycles[block] = line * at->count;
	rest = schedule->best_cycles - line * at->count;
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		rest -= fixed[i];
	if (rest > 0)
		fixed[STALL_SLOTTING] += rest;
	else
		elimination->result->gain_cycles[block] = rest;
	for (uint32_t i = 0; i < at->count; i++) {
		struct instruction_stalls *time = &elimination->result->instructions[at->first + i];
		const double least = schedule->lines[i].minimum_cycles, lost = time->cycles - fmax(least, 0);

		time->least_cycles = isfinite(least) && least > 0 ? least : 0;
		if (lost >= STALL_CYCLES)
			time->stall_cycles = lost;
		if (lost <= -STALL_CYCLES)
			elimination->result->gain_cycles[block] += lost;
	}
	if (frequency_of(elimination, block) <= 0)
		elimination->result->gain_cycles[block] = 0;
}

/* What of a static bound is a stall of its own: a miss for all that is known, or the multiplier's or divider's row. */
static bool
is_own_stall(const struct elimination *elimination, const struct instruction *instruction)
{
	if (is_multiplier(instruction->class) || is_divider(instruction->class))
		return true;
	return elimination->is_relative && (instruction->loads || instruction->stores);
}

static double
weight_of(const struct elimination *elimination, const struct schedule *schedule, uint32_t block, uint32_t index)
{
	const struct instruction *instruction =
		&elimination->graph->instructions[block_of(elimination, block)->first + index];
	struct work work;

	if (!schedule->lines[index].critical)
		return 0;
	if (schedule->bound != BOUND_LATENCY)
		return 1;
	work_of(elimination->pipeline, instruction, NULL, &work);
	return work.load_latency + work.latency;
}

static enum stall_reason
bound_reason(enum schedule_bound bound)
{
	if (bound == BOUND_LATENCY)
		return STALL_RA;
	return bound == BOUND_UNITS || bound == BOUND_STORES ? STALL_UNIT : STALL_SLOTTING;
}

/* The best case by instruction: micro-operations share the front end's time, critical ones what is beyond it. */
static void
least_out_of_order(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = block_of(elimination, block);
	const struct schedule *schedule = &elimination->input->schedules[block];
	struct instruction_stalls *times = &elimination->result->instructions[at->first];
	const double best = schedule->best_cycles > 0 ? schedule->best_cycles : 0;
	const double front = schedule->front_cycles > 0 ? fmin(schedule->front_cycles, best) : best;
	double weights = 0;

	for (uint32_t i = 0; i < at->count; i++) {
		times[i].least_cycles = best > 0 ? schedule->lines[i].minimum_cycles * (front / best) : 0;
		weights += weight_of(elimination, schedule, block, i);
	}
	elimination->result->issue_cycles[block] = front;
	for (uint32_t i = 0; i < at->count && weights > 0; i++) {
		const double share = (best - front) * weight_of(elimination, schedule, block, i) / weights;

		if (is_own_stall(elimination, &elimination->graph->instructions[at->first + i]))
			continue;
		times[i].least_cycles += share;
		fixed_of(elimination, block)[bound_reason(schedule->bound)] += share;
	}
}

static void
apply_scale(const struct elimination *elimination)
{
	struct stalls *result = elimination->result;

	for (size_t i = 0; i < elimination->graph->instruction_count; i++)
		result->instructions[i].least_cycles *= elimination->scale;
	for (size_t i = 0; i < elimination->graph->block_count; i++)
		result->issue_cycles[i] *= elimination->scale;
	for (size_t i = 0; i < elimination->graph->block_count * STALL_REASON_COUNT; i++)
		result->fixed_cycles[i] *= elimination->scale;
}

/* What the block took beyond its best case, to those that have more than their share. */
static void
time_out_of_order(const struct elimination *elimination, uint32_t block)
{
	const struct flow_block *at = block_of(elimination, block);
	struct instruction_stalls *times = &elimination->result->instructions[at->first];
	const double error = STALL_CYCLES * fmin(elimination->scale, 1);
	double beyond = 0, more = 0;

	if (frequency_of(elimination, block) <= 0)
		return;
	for (uint32_t i = 0; i < at->count; i++) {
		beyond += times[i].cycles - times[i].least_cycles;
		more += fmax(times[i].cycles - times[i].least_cycles, 0);
	}
	if (beyond <= -error)
		elimination->result->gain_cycles[block] = beyond;
	for (uint32_t i = 0; i < at->count && beyond > 0 && more > 0; i++) {
		const double lost = fmax(times[i].cycles - times[i].least_cycles, 0) * (beyond / more);

		if (lost >= error)
			times[i].stall_cycles = lost;
	}
}

int
divide_time(struct elimination *elimination)
{
	const size_t count = elimination->graph->block_count;
	struct stalls *result = elimination->result;

	result->fixed_cycles = calloc(count * STALL_REASON_COUNT + 1, sizeof(*result->fixed_cycles));
	result->issue_cycles = calloc(count + 1, sizeof(*result->issue_cycles));
	result->gain_cycles = calloc(count + 1, sizeof(*result->gain_cycles));
	if (!result->fixed_cycles || !result->issue_cycles || !result->gain_cycles)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		set_cycles(elimination, i);
		if (elimination->in_order)
			time_in_order(elimination, i);
		else
			least_out_of_order(elimination, i);
	}
	if (elimination->is_relative && find_worth(elimination))
		return -ENOMEM;
	if (elimination->in_order)
		return 0;
	if (elimination->is_relative)
		elimination->scale = find_scale(elimination);
	apply_scale(elimination);
	for (uint32_t i = 0; i < count; i++)
		time_out_of_order(elimination, i);
	return 0;
}
