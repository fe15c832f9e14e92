#include <string.h>

#include "dcpi-tools/calc/report.h"

/* Static stalls; the rest of the best case is what the instructions themselves take. */
static void
add_best(const struct schedule *schedule, double frequency, struct breakdown *breakdown)
{
	double execution = frequency * schedule->best_cycles;

	breakdown->best_cycles += execution;
	for (size_t i = 0; i < schedule->stall_count; i++) {
		const double lost = frequency * schedule->stalls[i].half_cycles / 2;

		if (schedule->stalls[i].reason >= BREAKDOWN_STATIC)
			continue;
		breakdown->fixed[schedule->stalls[i].reason] += lost;
		execution -= lost;
	}
	breakdown->execution += execution;
}

/* Cycles until now; they become shares of the actual ones. */
static void
to_percent(struct breakdown *breakdown)
{
	const double whole = breakdown->actual_cycles;
	double others;

	if (whole <= 0)
		return;
	for (size_t i = 0; i < BREAKDOWN_STATIC; i++)
		breakdown->fixed[i] *= 100 / whole;
	breakdown->dynamic *= 100 / whole;
	breakdown->execution *= 100 / whole;
	others = breakdown->dynamic + breakdown->execution;
	for (size_t i = 0; i < BREAKDOWN_STATIC; i++)
		others += breakdown->fixed[i];
	breakdown->sampling_error = 100 - others;
}

void
breakdown_make(const struct report *report, struct breakdown *breakdown)
{
	const struct procedure_analysis *analysis = report->analysis;

	memset(breakdown, 0, sizeof(*breakdown));
	breakdown->has_static = report->pipeline.kind == PIPELINE_KIND_IN_ORDER;
	for (uint32_t i = 0; i < analysis->graph->block_count; i++) {
		const struct frequency *frequency = &analysis->frequencies.blocks[i];
		const double samples = block_samples(analysis, i), best = analysis->schedules[i].best_cycles;

		if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0)
			continue;
		breakdown->actual_cycles += samples;
		breakdown->instructions += frequency->value * analysis->graph->blocks[i].count;
		breakdown->dynamic += samples - frequency->value * best;
		add_best(&analysis->schedules[i], frequency->value, breakdown);
	}
	if (analysis->time_samples > 0)
		breakdown->tallied_percent = 100 * breakdown->actual_cycles / (double)analysis->time_samples;
	to_percent(breakdown);
}
