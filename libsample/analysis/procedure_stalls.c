/* Why instructions were late, with what was counted besides time. */
#include <errno.h>
#include <string.h>

#include "analysis/procedure_parts.h"
#include "analysis/skid.h"

#define LEAST_GIGAHERTZ 0.4
#define LEAST_SHARE     0.5 /* of the samples: if a summary of what is known well has less, it is of all that is known */

/* Samples lie on the instructions to which it happened, in all epochs that sampled it. */
static bool
is_exact(const struct procedure_input *input, const char *name)
{
	const struct skid skid = skid_of_selection(input->selection, name, input->pipeline);

	return skid.source <= SKID_PRECISE && skid.instructions == 0 && !skid.differs;
}

static void
take_events(const struct procedure_input *input, const struct procedure_analysis *analysis, struct stalls_input *stalls)
{
	for (size_t i = 0; i < input->selection->event_count; i++) {
		const struct selection_event *event = &input->selection->events[i];
		const enum stall_event which = stall_event_find(event->name);

		if (which == STALL_EVENT_COUNT || !event->available)
			continue;
		stalls->events[which] = (struct stall_event_samples){
			.samples = analysis->samples + i * analysis->graph->instruction_count,
			.period = (double)event->period,
			.is_exact = is_exact(input, event->name),
		};
	}
}

/* A CPU that runs makes at least so many: events are bounded by it where time is a clock's. */
static double
least_cycles_per_sample(const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	const struct selection_event *event = &input->selection->events[input->event];

	if (strcmp(event->unit, "ns") == 0)
		return LEAST_GIGAHERTZ * (double)event->period;
	return analysis->cycles_per_sample;
}

static int
find_detail(void *argument, const struct instruction *instruction, struct instruction_detail *detail)
{
	const struct code_image *code = argument;
	size_t size = 0;
	const uint8_t *bytes = image_contents_code(code->contents, instruction->address, &size);

	if (!bytes)
		return -ENOENT;
	return decoder_detail(procedures_decoder(code->procedures), bytes, size, instruction->address, detail);
}

int
procedure_stalls(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	struct stalls_input stalls = {
		.graph = analysis->graph,
		.pipeline = input->pipeline,
		.schedules = analysis->schedules,
		.frequencies = &analysis->frequencies,
		.cycles_per_sample = least_cycles_per_sample(input, analysis),
		.detail = find_detail,
		.argument = (void *)input->code,
	};
	int err;

	take_events(input, analysis, &stalls);
	err = stalls_find(&stalls, &analysis->stalls);
	if (err)
		return err;
	stalls_sum(&stalls, &analysis->stalls, CONFIDENCE_MEDIUM, &analysis->summary);
	if (analysis->summary.actual < LEAST_SHARE * analysis->summary.all_samples)
		stalls_sum(&stalls, &analysis->stalls, CONFIDENCE_LOW, &analysis->summary);
	return 0;
}
