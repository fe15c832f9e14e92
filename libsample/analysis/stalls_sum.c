/* Where a procedure's time went: figure 4. */
#include <math.h>
#include <string.h>

#include "analysis/stalls.h"

#define TENTHS_MAX 1e8 /* all rows together are still an int */

static void
add_instruction(const struct stalls *stalls, size_t index, double frequency, struct stall_summary *summary)
{
	const struct instruction_stalls *of = &stalls->instructions[index];

	summary->actual += frequency * of->cycles;
	summary->dynamic += frequency * of->stall_cycles;
	summary->unexplained += frequency * of->unexplained;
	for (uint32_t i = of->stall; i < of->stall + of->stall_count; i++) {
		summary->low[stalls->stalls[i].cause] += frequency * stalls->stalls[i].low;
		summary->high[stalls->stalls[i].cause] += frequency * stalls->stalls[i].high;
	}
}

static void
add_block(const struct stalls_input *input, const struct stalls *stalls, uint32_t block, struct stall_summary *summary)
{
	const struct flow_block *at = &input->graph->blocks[block];
	const double frequency = input->frequencies->blocks[block].value;

	for (uint32_t i = 0; i < at->count; i++)
		add_instruction(stalls, at->first + i, frequency, summary);
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		summary->fixed[i] += frequency * stalls->fixed_cycles[(size_t)block * STALL_REASON_COUNT + i];
	summary->execution += frequency * stalls->issue_cycles[block];
	summary->gain += frequency * stalls->gain_cycles[block];
	summary->best += frequency * input->schedules[block].best_cycles;
	summary->instructions += frequency * at->count;
}

void
stalls_sum(const struct stalls_input *input, const struct stalls *stalls, enum frequency_confidence least,
           struct stall_summary *summary)
{
	memset(summary, 0, sizeof(*summary));
	for (uint32_t i = 0; i < input->graph->block_count; i++) {
		const struct frequency *frequency = &input->frequencies->blocks[i];

		if (frequency->confidence >= least && frequency->confidence != CONFIDENCE_NONE &&
		    frequency->value > 0 && isfinite(frequency->value))
			add_block(input, stalls, i, summary);
	}
	for (size_t i = 0; i < input->graph->instruction_count; i++)
		summary->all_samples += input->frequencies->samples[i];
	summary->dynamic += summary->gain;
	summary->sampling_error = summary->actual - summary->dynamic - summary->execution;
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		summary->sampling_error -= summary->fixed[i];
}

static int
tenths(double part, double whole)
{
	const double percent = whole > 0 ? 1000 * part / whole : 0;

	if (!isfinite(percent))
		return 0;
	return (int)lround(fmax(-TENTHS_MAX, fmin(percent, TENTHS_MAX)));
}

void
stall_summary_add(struct stall_summary *summary, const struct stall_summary *other)
{
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		summary->low[i] += other->low[i];
		summary->high[i] += other->high[i];
	}
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		summary->fixed[i] += other->fixed[i];
	summary->best += other->best;
	summary->actual += other->actual;
	summary->instructions += other->instructions;
	summary->unexplained += other->unexplained;
	summary->gain += other->gain;
	summary->dynamic += other->dynamic;
	summary->execution += other->execution;
	summary->sampling_error += other->sampling_error;
	summary->all_samples += other->all_samples;
}

void
stall_shares_of(const struct stall_summary *summary, double whole, struct stall_shares *shares)
{
	memset(shares, 0, sizeof(*shares));
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		shares->low[i] = tenths(summary->low[i], whole);
		shares->high[i] = tenths(summary->high[i], whole);
	}
	shares->unexplained = tenths(summary->unexplained, whole);
	shares->gain = tenths(summary->gain, whole);
	shares->dynamic = tenths(summary->dynamic, whole);
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++) {
		shares->fixed[i] = tenths(summary->fixed[i], whole);
		shares->fixed_sum += shares->fixed[i];
	}
	shares->stall = shares->dynamic + shares->fixed_sum;
	shares->execution = tenths(summary->execution, whole);
	shares->tallied = tenths(summary->actual, whole);
	shares->sampling_error = shares->tallied - shares->stall - shares->execution;
	shares->tallied_of_all = tenths(summary->actual, summary->all_samples);
}

void
stall_shares(const struct stall_summary *summary, struct stall_shares *shares)
{
	stall_shares_of(summary, summary->actual, shares);
}
