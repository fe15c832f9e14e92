#include "analysis/stalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls_internal.h"
#include "base/array.h"

#define SMALL_PART         0.02 /* of a stall: a reason that explains no more is ruled out */
#define STRIDE_STEPS       400  /* an instruction: what all searches for strides may take */
#define STALL_CYCLES       0.5  /* less is within the errors: half a line of a listing */
#define STALLS_LEAST_SHARE 0.02 /* of a procedure's time that is no stall */
#define TENTHS_MAX         1e8  /* all rows together are still an int */

static const struct {
	char letter;
	const char *name;
} causes[CAUSE_COUNT] = {
	[CAUSE_CODE_CACHE] = {'I', "I-cache (not ITB)"},
	[CAUSE_CODE_TLB] = {'T', "ITB/I-cache miss"},
	[CAUSE_DATA_CACHE] = {'d', "D-cache miss"},
	[CAUSE_DATA_TLB] = {'D', "DTB miss"},
	[CAUSE_WRITE_BUFFER] = {'w', "Write buffer"},
	[CAUSE_SYNCHRONIZATION] = {'y', "Synchronization"},
	[CAUSE_MISPREDICT] = {'p', "Branch mispredict"},
	[CAUSE_MULTIPLIER] = {'m', "IMUL busy"},
	[CAUSE_DIVIDER] = {'f', "FDIV busy"},
	[CAUSE_OTHER] = {'o', "Other"},
};

char
stall_cause_letter(unsigned cause)
{
	if (cause >= CAUSE_COUNT)
		return '?';
	return causes[cause].letter;
}

const char *
stall_cause_name(unsigned cause)
{
	return cause < CAUSE_COUNT ? causes[cause].name : "?";
}

void
stalls_fini(struct stalls *stalls)
{
	free(stalls->instructions);
	free(stalls->stalls);
	free(stalls->culprits);
	free(stalls->fixed_cycles);
	free(stalls->issue_cycles);
	free(stalls->gain_cycles);
	memset(stalls, 0, sizeof(*stalls));
}

int
stall_compare(const struct stall *one, const struct stall *other)
{
	if (one->likely != other->likely)
		return one->likely > other->likely ? -1 : 1;
	if (one->low != other->low)
		return one->low > other->low ? -1 : 1;
	if (one->high != other->high)
		return one->high > other->high ? -1 : 1;
	if ((one->cause == CAUSE_WRITE_BUFFER) != (other->cause == CAUSE_WRITE_BUFFER)) /* the rarest */
		return one->cause == CAUSE_WRITE_BUFFER ? 1 : -1;
	return (one->cause > other->cause) - (one->cause < other->cause);
}

/*
 * What each instruction took, had to take, and lost.
 *
 * In order, M of its schedule is what it had to take. Out of order, neighbours share what a block has to take in ways
 * that no model knows, so that only a block can be slower than its best case; the time beyond is that of those of its
 * instructions that have more than their share.
 */

static const struct flow_block *
block_of(const struct stall_analysis *analysis, uint32_t block)
{
	return &analysis->graph->blocks[block];
}

static double *
fixed_of(const struct stall_analysis *analysis, uint32_t block)
{
	return &analysis->result->fixed_cycles[(size_t)block * STALL_REASON_COUNT];
}

static double
frequency_of(const struct stall_analysis *analysis, uint32_t block)
{
	const struct frequency *frequency = &analysis->input->frequencies->blocks[block];

	return frequency->confidence != CONFIDENCE_NONE && isfinite(frequency->value) ? frequency->value : 0;
}

static void
set_cycles(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = block_of(analysis, block);
	const double frequency = frequency_of(analysis, block);

	for (uint32_t i = at->first; i < at->first + at->count && frequency > 0; i++) {
		const double cycles = analysis->input->frequencies->samples[i] / frequency;

		analysis->result->instructions[i].cycles = isfinite(cycles) && cycles > 0 ? cycles : 0;
	}
}

/* A half-cycle for each instruction, as in a listing; what the static stalls do not add up to is for the slots. */
static void
set_time_in_order(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = block_of(analysis, block);
	const struct schedule *schedule = &analysis->input->schedules[block];
	const double line = analysis->pipeline->issue_width == 1 ? 1 : 0.5;
	double *fixed = fixed_of(analysis, block), rest;

	for (size_t i = 0; i < schedule->stall_count; i++)
		if (schedule->stalls[i].reason < STALL_REASON_COUNT)
			fixed[schedule->stalls[i].reason] += schedule->stalls[i].half_cycles / 2.0;
	analysis->result->issue_cycles[block] = line * at->count;
	rest = schedule->best_cycles - line * at->count;
	for (unsigned i = 0; i < STALL_REASON_COUNT; i++)
		rest -= fixed[i];
	if (rest > 0)
		fixed[STALL_SLOTTING] += rest;
	else
		analysis->result->gain_cycles[block] = rest;
	for (uint32_t i = 0; i < at->count; i++) {
		struct instruction_stalls *time = &analysis->result->instructions[at->first + i];
		const double least = schedule->lines[i].minimum_cycles, lost = time->cycles - fmax(least, 0);

		time->least_cycles = isfinite(least) && least > 0 ? least : 0;
		if (lost >= STALL_CYCLES)
			time->stall_cycles = lost;
		if (lost <= -STALL_CYCLES)
			analysis->result->gain_cycles[block] += lost;
	}
	if (frequency_of(analysis, block) <= 0)
		analysis->result->gain_cycles[block] = 0;
}

/* Cycles of a static bound that count as dynamic: perhaps a miss, or the multiplier's or divider's row. */
static bool
is_dynamic_stall(const struct stall_analysis *analysis, const struct instruction *instruction)
{
	if (stall_is_multiplier(instruction->class) || stall_is_divider(instruction->class))
		return true;
	return analysis->is_relative && (instruction->loads || instruction->stores);
}

static double
weight_of(const struct stall_analysis *analysis, const struct schedule *schedule, uint32_t block, uint32_t index)
{
	const struct instruction *instruction =
		&analysis->graph->instructions[block_of(analysis, block)->first + index];
	struct uops uops;

	if (!schedule->lines[index].critical)
		return 0;
	if (schedule->bound != BOUND_LATENCY)
		return 1;
	uops_of(analysis->pipeline, instruction, NULL, &uops);
	return uops.load_latency + uops.latency;
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
set_least_out_of_order(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = block_of(analysis, block);
	const struct schedule *schedule = &analysis->input->schedules[block];
	struct instruction_stalls *times = &analysis->result->instructions[at->first];
	const double best = schedule->best_cycles > 0 ? schedule->best_cycles : 0;
	const double front = schedule->front_cycles > 0 ? fmin(schedule->front_cycles, best) : best;
	double weights = 0;

	for (uint32_t i = 0; i < at->count; i++) {
		times[i].least_cycles = best > 0 ? schedule->lines[i].minimum_cycles * (front / best) : 0;
		weights += weight_of(analysis, schedule, block, i);
	}
	analysis->result->issue_cycles[block] = front;
	for (uint32_t i = 0; i < at->count && weights > 0; i++) {
		const double share = (best - front) * weight_of(analysis, schedule, block, i) / weights;

		if (is_dynamic_stall(analysis, &analysis->graph->instructions[at->first + i]))
			continue;
		times[i].least_cycles += share;
		fixed_of(analysis, block)[bound_reason(schedule->bound)] += share;
	}
}

static void
apply_scale(const struct stall_analysis *analysis)
{
	struct stalls *result = analysis->result;

	for (size_t i = 0; i < analysis->graph->instruction_count; i++)
		result->instructions[i].least_cycles *= analysis->scale;
	for (size_t i = 0; i < analysis->graph->block_count; i++)
		result->issue_cycles[i] *= analysis->scale;
	for (size_t i = 0; i < analysis->graph->block_count * STALL_REASON_COUNT; i++)
		result->fixed_cycles[i] *= analysis->scale;
}

/* Give the block's time beyond its best case to the instructions that have more than their share. */
static void
set_time_out_of_order(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = block_of(analysis, block);
	struct instruction_stalls *times = &analysis->result->instructions[at->first];
	const double error = STALL_CYCLES * fmin(analysis->scale, 1);
	double beyond = 0, more = 0;

	if (frequency_of(analysis, block) <= 0)
		return;
	for (uint32_t i = 0; i < at->count; i++) {
		beyond += times[i].cycles - times[i].least_cycles;
		more += fmax(times[i].cycles - times[i].least_cycles, 0);
	}
	if (beyond <= -error)
		analysis->result->gain_cycles[block] = beyond;
	for (uint32_t i = 0; i < at->count && beyond > 0 && more > 0; i++) {
		const double lost = fmax(times[i].cycles - times[i].least_cycles, 0) * (beyond / more);

		if (lost >= error)
			times[i].stall_cycles = lost;
	}
}

/*
 * With relative frequencies: what a cycle of the model is worth in those of the frequencies. At least: instructions
 * that have no reason to stall took what the model says. At most: no block took less than its best case, and neither
 * did the procedure.
 */

/* No reason but a slow operation, which the best case includes. */
static bool
is_certain(struct stall_analysis *analysis, uint32_t block, uint32_t index)
{
	struct stall_suspect suspects[CAUSE_COUNT];

	stall_suspects_find(analysis, block, index, suspects);
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && i != CAUSE_OTHER)
			return false;
	return true;
}

/* What a cycle of the best case is worth, by the instructions that cannot have stalled. */
static double
find_scale(struct stall_analysis *analysis)
{
	double samples = 0, cycles = 0, all_samples = 0, all_cycles = 0, scale;

	for (uint32_t block = 0; block < analysis->graph->block_count; block++) {
		const double frequency = frequency_of(analysis, block);
		const struct flow_block *at = &analysis->graph->blocks[block];

		for (uint32_t i = 0; i < at->count && frequency > 0; i++) {
			const struct instruction_stalls *time = &analysis->result->instructions[at->first + i];

			all_samples += time->cycles * frequency;
			all_cycles += time->least_cycles * frequency;
			if (!is_certain(analysis, block, i))
				continue;
			samples += time->cycles * frequency;
			cycles += time->least_cycles * frequency;
		}
	}
	if (!(all_cycles > 0) || !isfinite(all_samples / all_cycles))
		return 1;
	scale = cycles > 0 ? samples / cycles : 0;
	scale = fmax(scale, STALLS_LEAST_SHARE * all_samples / all_cycles);
	return fmin(scale, all_samples / all_cycles);
}

static double
block_time(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = &analysis->graph->blocks[block];
	double cycles = 0;

	for (uint32_t i = at->first; i < at->first + at->count; i++)
		cycles += analysis->result->instructions[i].cycles;
	return cycles;
}

static double
ratio_or_infinity(double cycles, double best)
{
	return best > 0 && isfinite(cycles / best) ? cycles / best : INFINITY;
}

/* With relative frequencies: fill in scale_max, from times of instructions and blocks. 0 or -ENOMEM. */
static int
find_scale_max(struct stall_analysis *analysis)
{
	const size_t count = analysis->graph->block_count;
	double time = 0, best = 0, whole;

	analysis->scale_max = workspace_array(&analysis->space, count, sizeof(*analysis->scale_max));
	if (!analysis->scale_max)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const double frequency = frequency_of(analysis, i);
		const double cycles = block_time(analysis, i), least = analysis->input->schedules[i].best_cycles;

		analysis->scale_max[i] = ratio_or_infinity(cycles, least);
		time += cycles * frequency;
		best += least * frequency;
	}
	whole = ratio_or_infinity(time, best);
	for (size_t i = 0; i < count; i++)
		analysis->scale_max[i] = fmax(analysis->scale_max[i], whole);
	return 0;
}

/* Fill in times of instructions and blocks: all of the result but reasons. 0 or -ENOMEM. */
static int
divide_time(struct stall_analysis *analysis)
{
	const size_t count = analysis->graph->block_count;
	struct stalls *result = analysis->result;

	result->fixed_cycles = calloc(count * STALL_REASON_COUNT + 1, sizeof(*result->fixed_cycles));
	result->issue_cycles = calloc(count + 1, sizeof(*result->issue_cycles));
	result->gain_cycles = calloc(count + 1, sizeof(*result->gain_cycles));
	if (!result->fixed_cycles || !result->issue_cycles || !result->gain_cycles)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		set_cycles(analysis, i);
		if (analysis->in_order)
			set_time_in_order(analysis, i);
		else
			set_least_out_of_order(analysis, i);
	}
	if (analysis->is_relative && find_scale_max(analysis))
		return -ENOMEM;
	if (analysis->in_order)
		return 0;
	if (analysis->is_relative)
		analysis->scale = find_scale(analysis);
	apply_scale(analysis);
	for (uint32_t i = 0; i < count; i++)
		set_time_out_of_order(analysis, i);
	return 0;
}

/* Reasons: what is left of the suspects of each instruction. */

static int
add_culprits(struct stall_analysis *analysis, const struct stall_suspect *suspect, struct stall *stall)
{
	struct stalls *result = analysis->result;
	uint64_t *culprits;

	stall->culprit = (uint32_t)result->culprit_count;
	stall->culprit_count = suspect->culprit_count;
	if (suspect->culprit_count == 0)
		return 0;
	culprits = array_grow(result->culprits, &analysis->culprit_capacity,
	                      result->culprit_count + suspect->culprit_count, sizeof(*culprits));
	if (!culprits)
		return -ENOMEM;
	result->culprits = culprits;
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		result->culprits[result->culprit_count++] = analysis->graph->instructions[suspect->culprits[i]].address;
	if (stall->culprit_count > 1)
		qsort(result->culprits + stall->culprit, stall->culprit_count, sizeof(*result->culprits),
		      array_compare_u64);
	return 0;
}

static int
add_stall(struct stall_analysis *analysis, const struct stall_suspect *suspect, struct stall stall)
{
	struct stalls *result = analysis->result;
	struct stall *stalls =
		array_grow(result->stalls, &analysis->stall_capacity, result->stall_count + 1, sizeof(*stalls));
	int err;

	if (!stalls)
		return -ENOMEM;
	result->stalls = stalls;
	err = add_culprits(analysis, suspect, &stall);
	if (!err)
		stalls[result->stall_count++] = stall;
	return err;
}

/* The cycles of the stall that events account for; other reasons share what these leave. */
static double
evidence_cycles(const struct stall_suspect suspects[CAUSE_COUNT])
{
	double sum = 0;

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && suspects[i].evidence >= 0)
			sum += fmin(suspects[i].evidence, suspects[i].bound);
	return sum;
}

/* Cycles without events are rather a misprediction on entry from elsewhere than loads there, or stores. */
static double
likely_cycles(const struct stall_suspect *suspect, unsigned cause, double left)
{
	const double part = cause == CAUSE_WRITE_BUFFER                     ? left / 4
	                    : suspect->is_open && cause != CAUSE_MISPREDICT ? left / 2
	                                                                    : left;

	if (suspect->evidence < 0)
		return part;
	return suspect->evidence + (suspect->is_open ? part : 0);
}

/* A reason's low is what the highs of all others leave. */
static int
explain_stall(struct stall_analysis *analysis, uint32_t block, uint32_t index)
{
	const uint32_t at = analysis->graph->blocks[block].first + index;
	struct instruction_stalls *of = &analysis->result->instructions[at];
	struct stall_suspect suspects[CAUSE_COUNT];
	const struct stall_site site = stall_suspects_find(analysis, block, index, suspects);
	double sum = 0, left;

	stall_suspects_bound(&site);
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		suspects[i].is_possible = suspects[i].is_possible && suspects[i].bound >= SMALL_PART * of->stall_cycles;
		suspects[i].bound = suspects[i].is_possible ? fmin(suspects[i].bound, of->stall_cycles) : 0;
		sum += suspects[i].bound;
	}
	left = fmax(of->stall_cycles - evidence_cycles(suspects), 0);
	of->unexplained = fmax(of->stall_cycles - sum, 0);
	of->stall = (uint32_t)analysis->result->stall_count;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		struct stall stall = {
			.cause = (uint8_t)i,
			.high = suspects[i].bound,
			.low = fmin(fmax(of->stall_cycles - (sum - suspects[i].bound), 0), suspects[i].bound),
		};
		int err;

		if (!suspects[i].is_possible)
			continue;
		stall.likely = fmax(likely_cycles(&suspects[i], i, left), stall.low);
		err = add_stall(analysis, &suspects[i], stall);
		if (err)
			return err;
		of->stall_count++;
	}
	return 0;
}

static int
explain_all(struct stall_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	int err = 0;

	for (uint32_t i = 0; i < graph->block_count; i++)
		for (uint32_t k = 0; k < graph->blocks[i].count && !err; k++)
			if (analysis->result->instructions[graph->blocks[i].first + k].stall_cycles > 0)
				err = explain_stall(analysis, i, k);
	return err;
}

static bool
is_consistent(const struct stalls_input *input)
{
	for (size_t i = 0; i < input->graph->block_count; i++)
		if (input->schedules[i].count != input->graph->blocks[i].count || !input->schedules[i].lines)
			return false;
	return input->frequencies->blocks && input->frequencies->edges && input->frequencies->samples;
}

static bool
analysis_init(struct stall_analysis *analysis)
{
	const size_t count = analysis->graph->block_count;

	analysis->fits_cache = workspace_array(&analysis->space, count, sizeof(*analysis->fits_cache));
	analysis->fits_tlb = workspace_array(&analysis->space, count, sizeof(*analysis->fits_tlb));
	analysis->keeps_data = workspace_array(&analysis->space, count, sizeof(*analysis->keeps_data));
	analysis->seen = workspace_array(&analysis->space, count, sizeof(*analysis->seen));
	analysis->queue = workspace_array(&analysis->space, count, sizeof(*analysis->queue));
	analysis->distances = workspace_array(&analysis->space, count, sizeof(*analysis->distances));
	analysis->result->instructions =
		calloc(analysis->graph->instruction_count + 1, sizeof(*analysis->result->instructions));
	return !analysis->space.has_failed && analysis->result->instructions;
}

int
stalls_find(const struct stalls_input *input, struct stalls *stalls)
{
	struct stall_analysis analysis = {
		.input = input,
		.graph = input->graph,
		.pipeline = input->pipeline,
		.in_order = input->pipeline->kind == PIPELINE_KIND_IN_ORDER,
		.is_relative = input->frequencies->is_relative,
		.scale = 1,
		.result = stalls,
	};
	int err = -ENOMEM;

	memset(stalls, 0, sizeof(*stalls));
	if (!is_consistent(input))
		return -EINVAL;
	if (!analysis_init(&analysis))
		goto out;
	err = stall_find_loops(&analysis);
	if (err)
		goto out;
	stall_compare_lines(&analysis);
	err = divide_time(&analysis);
	if (err)
		goto out;
	analysis.asks_strides = true;
	analysis.stride_steps_left = STRIDE_STEPS * (input->graph->instruction_count + STRIDE_STEPS);
	err = explain_all(&analysis);
out:
	workspace_free(&analysis.space);
	if (err)
		stalls_fini(stalls);
	return err;
}

/* Where a procedure's time went: figure 4. */

static void
sum_instruction(const struct stalls *stalls, size_t index, double frequency, struct stall_summary *summary)
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
sum_block(const struct stalls_input *input, const struct stalls *stalls, uint32_t block, struct stall_summary *summary)
{
	const struct flow_block *at = &input->graph->blocks[block];
	const double frequency = input->frequencies->blocks[block].value;

	for (uint32_t i = 0; i < at->count; i++)
		sum_instruction(stalls, at->first + i, frequency, summary);
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
			sum_block(input, stalls, i, summary);
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
