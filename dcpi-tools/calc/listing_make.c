#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/frequency_source.h"

#define SHADOW_CYCLES 0.05 /* less holds nothing up */

static bool
is_in_order(const struct report *report)
{
	return report->model.pipeline.kind == PIPELINE_KIND_IN_ORDER;
}

/* In order, time is known to half a cycle: two instructions may issue in one. */
static double
shown_cycles(const struct report *report, double cycles)
{
	if (cycles < 0)
		return LISTING_UNKNOWN;
	return is_in_order(report) ? round(2 * cycles) / 2 : cycles;
}

static char
static_letter(unsigned reason)
{
	static const char letters[STALL_REASON_COUNT] = {'s', 'a', 'b', 'c', 'u'};

	if (reason >= STALL_REASON_COUNT)
		return '?';
	return letters[reason];
}

static int
add_bubble(struct listing_line *line, const struct listing_bubble *bubble)
{
	struct listing_bubble *bubbles = reallocarray(line->bubbles, line->bubble_count + 1, sizeof(*bubbles));

	if (!bubbles)
		return -ENOMEM;
	line->bubbles = bubbles;
	line->bubbles[line->bubble_count++] = *bubble;
	return 0;
}

static int
add_static_bubbles(const struct schedule *schedule, uint32_t index, struct listing_line *line)
{
	int err = 0;

	for (size_t i = 0; i < schedule->stall_count && !err; i++) {
		const struct static_stall *stall = &schedule->stalls[i];
		struct listing_bubble bubble = {
			.letters = {static_letter(stall->reason)},
			.is_static = true,
			.half_cycles = stall->half_cycles,
		};

		if (stall->instruction == index)
			err = add_bubble(line, &bubble);
	}
	return err;
}

static void
add_culprit(struct listing_line *line, uint64_t address)
{
	for (size_t i = 0; i < line->culprit_count; i++)
		if (line->culprits[i] == address)
			return;
	if (address != line->address && line->culprit_count < LISTING_CULPRITS)
		line->culprits[line->culprit_count++] = address;
}

/* All reasons that are possible, in the order of reasons[]. */
static void
take_letters(const struct stalls *stalls, const struct instruction_stalls *late, struct listing_bubble *bubble)
{
	size_t used = 0;

	for (size_t reason = 0; reason < REASON_COUNT; reason++) {
		bool is_possible = reasons[reason].letter == '?' && late->stall_count == 0;

		for (uint32_t i = 0; i < late->stall_count; i++)
			is_possible |=
				stall_cause_letter(stalls->stalls[late->stall + i].cause) == reasons[reason].letter;
		if (is_possible)
			bubble->letters[used++] = reasons[reason].letter;
	}
}

/* What it took longer than it had to. */
static int
add_dynamic_bubble(const struct report *report, uint32_t instruction, struct listing_line *line)
{
	const struct stalls *stalls = &report->analysis->stalls;
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	struct listing_bubble bubble = {.half_cycles = (uint32_t)lround(2 * fmin(fmax(late->stall_cycles, 0), 1e6))};

	if (line->cycles < 0 || bubble.half_cycles == 0)
		return 0;
	take_letters(stalls, late, &bubble);
	for (uint32_t i = 0; i < late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[late->stall + i];

		for (uint32_t k = 0; k < stall->culprit_count; k++)
			add_culprit(line, stalls->culprits[stall->culprit + k]);
	}
	return add_bubble(line, &bubble);
}

static enum listing_issue
issue_of(const struct report *report, const struct schedule_line *schedule, double cycles)
{
	if (cycles < 0)
		return LISTING_ALONE;
	if (is_in_order(report))
		return schedule->dual && cycles <= 0 ? LISTING_DUAL : LISTING_ALONE;
	return cycles < SHADOW_CYCLES ? LISTING_SHADOW : LISTING_ALONE;
}

static int
make_line(const struct report *report, uint32_t block_index, uint32_t index, struct listing_line *line)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[block_index];
	const struct schedule *schedule = &analysis->schedules[block_index];
	const struct schedule_line *least = &schedule->lines[index];
	char text[INSTRUCTION_TEXT_SIZE];
	int err;

	line->address = analysis->graph->instructions[block->first + index].address;
	line->samples = analysis->frequencies.samples[block->first + index];
	line->cycles = shown_cycles(report, procedure_instruction_cycles(analysis, block_index, block->first + index));
	line->issue = issue_of(report, least, line->cycles);
	line->is_critical = least->critical;
	calc_instruction_text(report, block->first + index, text);
	line->text = strdup(text);
	err = line->text ? add_static_bubbles(schedule, index, line) : -ENOMEM;
	return err ? err : add_dynamic_bubble(report, block->first + index, line);
}

static void
write_note(const struct report *report, uint32_t index, struct listing_block *shown)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct frequency *frequency = &analysis->frequencies.blocks[index];
	const double executions = frequency->value * analysis->cycles_per_sample;
	char value[64], times[64] = "";

	if (frequency->confidence == CONFIDENCE_EXACT) {
		snprintf(shown->note, sizeof(shown->note), "Executed %" PRIu64 " times (exact), %.1f%% of the time",
		         analysis->executions ? analysis->executions[analysis->graph->blocks[index].first] : 0,
		         block_percent(report, index));
		return;
	}
	if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0) {
		snprintf(shown->note, sizeof(shown->note), "Frequency %s, %.1f%% of the time",
		         frequency->confidence == CONFIDENCE_NONE || procedure_block_samples(analysis, index) > 0
		                 ? "not known"
		                 : "near 0",
		         block_percent(report, index));
		return;
	}
	frequency_format(frequency->value, analysis->frequencies.is_relative, value, sizeof(value));
	if (executions > 0 && !analysis->frequencies.is_relative)
		snprintf(times, sizeof(times), ", executed %.3g times", executions);
	snprintf(shown->note, sizeof(shown->note), "Frequency %s (%s confidence, %s)%s, %.1f%% of the time", value,
	         frequency_confidence_name(frequency->confidence), frequency_method_name(frequency->method), times,
	         block_percent(report, index));
}

static int
make_block(const struct report *report, uint32_t index, struct listing_block *shown)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const double cycles = procedure_block_cycles(analysis, index);
	int err = 0;

	shown->best_cycles = analysis->schedules[index].best_cycles;
	shown->actual_cycles = cycles < 0 ? LISTING_UNKNOWN : cycles;
	write_note(report, index, shown);
	shown->lines = calloc(block->count, sizeof(*shown->lines));
	if (!shown->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < block->count && !err; i++) {
		shown->line_count = i + 1;
		err = make_line(report, index, i, &shown->lines[i]);
	}
	return err;
}

int
listing_make(const struct report *report, struct listing *listing, size_t *dropped)
{
	const struct flow_graph *graph = report->analysis->graph;
	int err = 0;

	memset(listing, 0, sizeof(*listing));
	*dropped = 0;
	listing->blocks = calloc(graph->block_count + 1, sizeof(*listing->blocks));
	if (!listing->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		if (block_percent(report, i) < report->request->cutoff_percent) {
			++*dropped;
			continue;
		}
		err = make_block(report, i, &listing->blocks[listing->block_count++]);
	}
	if (err)
		listing_fini(listing);
	return err;
}
