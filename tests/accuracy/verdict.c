#include "tests/accuracy/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const double verdict_limits[VERDICT_LIMITS] = {5, 10, 15};

/* The one that stands first among those of an instruction: the index of a stall, or UINT32_MAX when it has none. */
static uint32_t
first_reason(const struct stalls *stalls, uint32_t instruction)
{
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	uint32_t first = UINT32_MAX;

	for (uint32_t i = late->stall; i < late->stall + late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[i];

		if (first == UINT32_MAX || stall_compare(stall, &stalls->stalls[first]) < 0)
			first = i;
	}
	return first;
}

/*
 * The executions that a frequency of 1 stands for: in one run, by cycles per sample where they are known; else
 * procedure_executions_per_frequency().
 */
static double
executions_unit(const struct procedure_analysis *analysis, bool same_run)
{
	const bool is_absolute = same_run && !analysis->frequencies.is_relative && analysis->cycles_per_sample > 0;

	return is_absolute ? analysis->cycles_per_sample : procedure_executions_per_frequency(analysis);
}

static uint32_t
find(const struct flow_graph *graph, uint64_t address)
{
	const uint32_t block = flow_graph_block_at(graph, address);

	if (block == FLOW_OUTSIDE)
		return UINT32_MAX;
	for (uint32_t i = 0; i < graph->blocks[block].count; i++)
		if (graph->instructions[graph->blocks[block].first + i].address == address)
			return graph->blocks[block].first + i;
	return UINT32_MAX;
}

/* A culprit outside of the procedure is named right by the call that leads there: a procedure shows no more. */
static bool
is_blamed(const struct flow_graph *graph, const struct stalls *stalls, const struct stall *stall, uint64_t address,
          uint64_t culprit)
{
	const bool is_outside = find(graph, culprit) == UINT32_MAX;

	if (stall->culprit_count == 0)
		return culprit == address;
	for (uint32_t i = 0; i < stall->culprit_count; i++) {
		const uint64_t named = stalls->culprits[stall->culprit + i];
		const uint32_t at = find(graph, named);
		const uint8_t flow = at == UINT32_MAX ? FLOW_NEXT : graph->instructions[at].flow;

		if (named == culprit || (is_outside && (flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT)))
			return true;
	}
	return false;
}

static void
judge(const struct procedure_analysis *analysis, uint32_t instruction, struct verdict *verdict)
{
	const struct stalls *stalls = &analysis->stalls;
	const uint32_t first = first_reason(stalls, instruction);
	const struct stall *stall;

	if (first == UINT32_MAX)
		return;
	stall = &stalls->stalls[first];
	verdict->inferred = stall->cause;
	verdict->inferred_culprits = stall->culprit_count;
	verdict->is_cause = stall->cause == verdict->cause;
	verdict->is_culprit =
		verdict->is_cause && is_blamed(analysis->graph, stalls, stall,
	                                       analysis->graph->instructions[instruction].address, verdict->culprit);
}

/* All truths of one instruction. */
static void
sum_up(const struct verdict_truth *truths, size_t count, struct verdict *verdict)
{
	double causes[CAUSE_COUNT] = {0}, most = 0;

	for (size_t i = 0; i < count; i++) {
		if (truths[i].cause >= CAUSE_COUNT)
			continue;
		causes[truths[i].cause] += truths[i].cycles;
		verdict->cycles += truths[i].cycles;
	}
	for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
		if (causes[cause] > causes[verdict->cause])
			verdict->cause = (uint8_t)cause;
	for (size_t i = 0; i < count; i++) {
		if (truths[i].cause != verdict->cause || truths[i].cycles <= most)
			continue;
		most = truths[i].cycles;
		verdict->culprit = truths[i].culprit;
	}
}

int
verdicts_make(const struct procedure_analysis *analysis, const struct verdict_truth *truths, size_t count,
              struct verdict **verdicts)
{
	const struct flow_graph *graph = analysis->graph;
	size_t next;

	*verdicts = calloc(graph->instruction_count + 1, sizeof(**verdicts));
	if (!*verdicts)
		return -ENOMEM;
	for (size_t i = 0; i < graph->instruction_count; i++)
		(*verdicts)[i].inferred = CAUSE_COUNT;
	for (size_t i = 0; i < count; i = next) {
		const uint32_t at = find(graph, truths[i].address);

		for (next = i + 1; next < count && truths[next].address == truths[i].address;)
			next++;
		if (at == UINT32_MAX)
			continue;
		sum_up(truths + i, next - i, &(*verdicts)[at]);
		judge(analysis, at, &(*verdicts)[at]);
	}
	return 0;
}

static void
add_blocks(struct verdict_sum *sum, const struct procedure_analysis *analysis, double unit)
{
	for (uint32_t i = 0; analysis->executions && i < analysis->graph->block_count; i++) {
		const double executions = (double)analysis->executions[analysis->graph->blocks[i].first];
		const double samples = procedure_block_samples(analysis, i);
		const struct frequency *frequency = &analysis->frequencies.blocks[i];
		const double estimate = frequency->confidence == CONFIDENCE_NONE ? 0 : frequency->value * unit;

		sum->samples += samples;
		for (size_t k = 0; k < VERDICT_LIMITS; k++)
			if (fabs(estimate - executions) <= executions * verdict_limits[k] / 100)
				sum->within[k] += samples;
	}
}

void
verdict_sum_add(struct verdict_sum *sum, const struct procedure_analysis *analysis, bool same_run,
                const struct verdict *verdicts)
{
	add_blocks(sum, analysis, executions_unit(analysis, same_run));
	for (size_t i = 0; i < analysis->graph->instruction_count; i++) {
		sum->stall_cycles += verdicts[i].cycles;
		sum->causes += verdicts[i].is_cause ? verdicts[i].cycles : 0;
		sum->culprits += verdicts[i].is_culprit ? verdicts[i].cycles : 0;
	}
}
