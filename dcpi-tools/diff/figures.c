#include "dcpi-tools/diff/figures.h"

#include <math.h>
#include <string.h>

#define MOST 0.5 /* of a procedure's samples: so many must be in blocks that are known so well */

static void
divide(struct code_figures *figures)
{
	figures->cycles = figures->instructions > 0 ? figures->samples / figures->instructions : -1;
}

/* Executions by a frequency; 0 when they are not known. */
static double
executions_of(const struct procedure_analysis *analysis, const struct frequency *frequency)
{
	const double executions = frequency->value * analysis->cycles_per_sample;

	return frequency->confidence != CONFIDENCE_NONE && isfinite(executions) ? fmax(executions, 0) : 0;
}

/* How often control came from outside to where the procedure begins. */
static double
entries(const struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from != FLOW_OUTSIDE || graph->edges[i].to != 0)
			continue;
		if (analysis->edge_counts)
			return (double)analysis->edge_counts[i];
		return executions_of(analysis, &analysis->frequencies.edges[i]);
	}
	return 0;
}

/* The best that at least half of the samples have. */
static unsigned
common_confidence(const struct procedure_analysis *analysis)
{
	double samples[CONFIDENCE_EXACT + 1] = {0}, all = 0, sum = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++) {
		const unsigned confidence = analysis->frequencies.blocks[i].confidence;
		const double own = procedure_block_samples(analysis, i);

		if (confidence <= CONFIDENCE_EXACT)
			samples[confidence] += own;
		all += own;
	}
	for (unsigned confidence = CONFIDENCE_EXACT; confidence > CONFIDENCE_NONE; confidence--) {
		sum += samples[confidence];
		if (sum > 0 && sum >= MOST * all)
			return confidence;
	}
	return CONFIDENCE_NONE;
}

void
figures_of_procedure(const struct procedure_analysis *analysis, struct code_figures *figures)
{
	const struct stall_summary *summary = &analysis->summary;

	memset(figures, 0, sizeof(*figures));
	figures->confidence = common_confidence(analysis);
	figures->is_known = figures->confidence != CONFIDENCE_NONE;
	figures->is_relative = analysis->frequencies.is_relative;
	figures->executions = entries(analysis);
	figures->samples = summary->actual;
	figures->instructions = summary->instructions;
	memcpy(figures->low, summary->low, sizeof(figures->low));
	memcpy(figures->high, summary->high, sizeof(figures->high));
	divide(figures);
}

static void
begin(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures)
{
	const struct frequency *frequency = &analysis->frequencies.blocks[block];

	memset(figures, 0, sizeof(*figures));
	figures->confidence = frequency->confidence;
	figures->is_known = frequency->confidence != CONFIDENCE_NONE;
	figures->is_relative = analysis->frequencies.is_relative;
	figures->executions = executions_of(analysis, frequency);
	if (frequency->confidence == CONFIDENCE_EXACT && analysis->executions)
		figures->executions = (double)analysis->executions[analysis->graph->blocks[block].first];
}

static void
add_reasons(const struct procedure_analysis *analysis, double frequency, uint32_t instruction,
            struct code_figures *figures)
{
	const struct instruction_stalls *late = &analysis->stalls.instructions[instruction];

	for (uint32_t i = late->stall; i < late->stall + late->stall_count; i++) {
		const struct stall *stall = &analysis->stalls.stalls[i];

		if (stall->cause >= CAUSE_COUNT)
			continue;
		figures->low[stall->cause] += frequency * stall->low;
		figures->high[stall->cause] += frequency * stall->high;
	}
}

void
figures_of_block(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures)
{
	const struct flow_block *at = &analysis->graph->blocks[block];
	const double frequency = analysis->frequencies.blocks[block].value;

	begin(analysis, block, figures);
	figures->samples = procedure_block_samples(analysis, block);
	figures->instructions = frequency * at->count;
	for (uint32_t i = 0; i < at->count; i++)
		add_reasons(analysis, frequency, at->first + i, figures);
	divide(figures);
}

void
figures_of_instruction(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction,
                       struct code_figures *figures)
{
	const double frequency = analysis->frequencies.blocks[block].value;

	begin(analysis, block, figures);
	figures->samples = analysis->frequencies.samples[instruction];
	figures->instructions = frequency;
	add_reasons(analysis, frequency, instruction, figures);
	figures->cycles = procedure_instruction_cycles(analysis, block, instruction);
}

void
figures_add(struct code_figures *figures, const struct code_figures *other)
{
	if (!figures->is_known || !other->is_known) {
		if (other->is_known)
			*figures = *other;
		return;
	}
	figures->is_relative |= other->is_relative;
	if (other->confidence < figures->confidence)
		figures->confidence = other->confidence;
	figures->executions += other->executions;
	figures->samples += other->samples;
	figures->instructions += other->instructions;
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		figures->low[i] += other->low[i];
		figures->high[i] += other->high[i];
	}
	divide(figures);
}

double
figures_lost(const struct code_figures *figures)
{
	double lost = 0;

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		lost = fmax(lost, figures->high[i]);
	return lost;
}
