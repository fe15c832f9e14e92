/* Whether an instruction may have waited for the multiplier or the divider. */
#include <math.h>

#include "analysis/stalls_suspects.h"

#define CLASS_BIT(class) (UINT64_C(1) << (class))
#define MULTIPLIERS      (CLASS_BIT(CLASS_MULTIPLY) | CLASS_BIT(CLASS_VECTOR_MULTIPLY))
#define DIVIDERS         (CLASS_BIT(CLASS_DIVIDE) | CLASS_BIT(CLASS_FLOAT_DIVIDE) | CLASS_BIT(CLASS_FLOAT_ROOT))

bool
is_multiplier(unsigned class)
{
	return class < CLASS_COUNT && MULTIPLIERS >> class & 1;
}

bool
is_divider(unsigned class)
{
	return class < CLASS_COUNT && DIVIDERS >> class & 1;
}

/* In order: it needs a unit that something before it still has, or what that makes. */
static void
suspect_unit(const struct place *place, enum stall_cause cause, uint64_t classes, unsigned of)
{
	const struct pipeline_operation *operation = &place->elimination->pipeline->operations[of];
	const struct instruction *instruction = place->instruction;
	double cycles = operation->latency;
	struct walk walk;

	for (unsigned i = 0; i < operation->use_count; i++)
		cycles = fmax(cycles, operation->uses[i].cycles);
	if (cycles <= 1)
		return;
	if (instruction->class < CLASS_COUNT && classes >> instruction->class & 1) {
		walk_back(place->elimination, place->block, place->index, REGISTER_NONE, classes & CLASS_BIT(of),
		          cycles, &walk);
		for (uint32_t i = 0; i < walk.count; i++)
			if (!is_call_site(&place->elimination->graph->instructions[walk.at[i]]))
				blame(suspect(place, cause, model_cycles(place, cycles)), walk.at[i]);
	}
	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		walk_back(place->elimination, place->block, place->index, instruction->reads[i], 0, cycles, &walk);
		for (uint32_t k = 0; k < walk.count; k++)
			if (place->elimination->graph->instructions[walk.at[k]].class == of)
				blame(suspect(place, cause, model_cycles(place, cycles)), walk.at[k]);
	}
}

void
suspect_units(const struct place *place)
{
	if (!place->elimination->in_order) {
		if (is_multiplier(place->instruction->class))
			blame(suspect(place, CAUSE_MULTIPLIER, INFINITY), place->at);
		if (is_divider(place->instruction->class))
			blame(suspect(place, CAUSE_DIVIDER, INFINITY), place->at);
		return;
	}
	for (unsigned class = 0; class < CLASS_COUNT; class ++) {
		if (is_multiplier(class))
			suspect_unit(place, CAUSE_MULTIPLIER, MULTIPLIERS, class);
		if (is_divider(class))
			suspect_unit(place, CAUSE_DIVIDER, DIVIDERS, class);
	}
}
