/* Whether an instruction may have waited for data, or for room for it. */
#include <math.h>

#include "analysis/stalls_suspects.h"
#include "code/schedule_parts.h"

/* Whether the register comes from memory by this instruction. */
static bool
is_loaded_by(const struct instruction *instruction, uint8_t reg)
{
	for (unsigned i = 0; instruction->loads && i < instruction->write_count; i++)
		if (instruction->writes[i] == reg && !is_written_back(instruction, i))
			return true;
	return false;
}

/* In order: operands that come from a load, or may. */
static void
suspect_operands(const struct scene *scene)
{
	const struct elimination *elimination = scene->elimination;
	const struct pipeline *pipeline = elimination->pipeline;
	const double cycles = pipeline->data.memory_cycles + pipeline->data_tlb.miss_cycles;

	for (unsigned i = 0; i < scene->instruction->read_count && !scene->instruction->clears; i++) {
		const uint8_t reg = scene->instruction->reads[i];
		struct walk walk;

		walk_back(scene->elimination, scene->block, scene->index, reg, 0, cycles, &walk);
		if (walk.from_caller || walk.is_lost) {
			suspect(scene, CAUSE_DATA_CACHE, INFINITY);
			suspect(scene, CAUSE_DATA_TLB, INFINITY);
		}
		for (uint32_t k = 0; k < walk.count; k++) {
			const struct instruction *maker = &elimination->graph->instructions[walk.at[k]];

			if (!is_call_site(maker) && !is_loaded_by(maker, reg))
				continue;
			blame(suspect(scene, CAUSE_DATA_CACHE, INFINITY), walk.at[k]);
			blame(suspect(scene, CAUSE_DATA_TLB,
			              is_call_site(maker) ? INFINITY
			                                  : model_cycles(scene, pipeline->data_tlb.miss_cycles)),
			      walk.at[k]);
		}
	}
}

void
suspect_data(const struct scene *scene)
{
	const struct elimination *elimination = scene->elimination;
	const struct instruction *instruction = scene->instruction;

	if (instruction->loads || instruction->stores)
		blame_itself(scene, suspect(scene, CAUSE_DATA_TLB,
		                            model_cycles(scene, elimination->pipeline->data_tlb.miss_cycles)));
	if (elimination->in_order)
		suspect_operands(scene);
	else if (instruction->loads)
		blame_itself(scene, suspect(scene, CAUSE_DATA_CACHE, INFINITY));
	if (instruction->stores)
		blame_itself(scene, suspect(scene, CAUSE_WRITE_BUFFER, INFINITY));
}
