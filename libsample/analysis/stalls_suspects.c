/* Every reason that an instruction may have to stall, but those that code and frequencies rule out. */
#include "analysis/stalls_suspects.h"

#include <math.h>
#include <string.h>

#define LONG_LATENCY 2 /* cycles; a chain of such operations is slow */

bool
is_call_site(const struct instruction *instruction)
{
	return instruction->flow == FLOW_CALL || instruction->flow == FLOW_CALL_INDIRECT;
}

struct suspect *
suspect(const struct place *place, enum stall_cause cause, double bound)
{
	struct suspect *suspect = &place->suspects[cause];

	if (!suspect->is_possible)
		*suspect = (struct suspect){.is_possible = true, .bound = bound, .evidence = -1};
	else
		suspect->bound += bound;
	return suspect;
}

void
blame(struct suspect *suspect, uint32_t instruction)
{
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		if (suspect->culprits[i] == instruction)
			return;
	if (suspect->culprit_count < SUSPECT_CULPRITS_MAX)
		suspect->culprits[suspect->culprit_count++] = instruction;
}

void
blame_itself(const struct place *place, struct suspect *suspect)
{
	suspect->is_itself = true;
	if (!place->elimination->in_order)
		blame(suspect, place->at);
}

double
model_cycles(const struct place *place, double cycles)
{
	const double *worth = place->elimination->worth;

	return worth && cycles > 0 ? cycles * worth[place->block] : cycles;
}

static void
suspect_synchronization(const struct place *place)
{
	const unsigned class = place->instruction->class;

	if (class == CLASS_ATOMIC || class == CLASS_BARRIER)
		blame_itself(place, suspect(place, CAUSE_SYNCHRONIZATION, INFINITY));
	else if (place->index > 0 && place->instruction[-1].class == CLASS_BARRIER)
		blame(suspect(place, CAUSE_SYNCHRONIZATION, INFINITY), place->at - 1);
}

static void
suspect_others(const struct place *place)
{
	const struct instruction *instruction = place->instruction;
	const struct elimination *elimination = place->elimination;
	const struct pipeline_operation *operation = pipeline_operation(elimination->pipeline, instruction);
	const unsigned class = instruction->class;

	if (class == CLASS_STRING || class == CLASS_SYSTEM || class == CLASS_UNKNOWN)
		blame_itself(place, suspect(place, CAUSE_OTHER, INFINITY));
	else if (!elimination->in_order && operation->latency >= LONG_LATENCY && !instruction->loads &&
	         !instruction->stores && !is_multiplier(class) && !is_divider(class))
		blame_itself(place, suspect(place, CAUSE_OTHER, model_cycles(place, operation->latency)));
}

void
suspects_find(struct elimination *elimination, uint32_t block, uint32_t index, struct suspect suspects[CAUSE_COUNT])
{
	const uint32_t at = elimination->graph->blocks[block].first + index;
	const struct place place = {
		.elimination = elimination,
		.instruction = &elimination->graph->instructions[at],
		.block = block,
		.index = index,
		.at = at,
		.suspects = suspects,
	};

	memset(suspects, 0, CAUSE_COUNT * sizeof(*suspects));
	suspect_data(&place);
	suspect_synchronization(&place);
	suspect_branches(&place);
	suspect_units(&place);
	suspect_others(&place);
	suspect_code(&place); /* last: it asks whether there are others */
}
