/* Every reason that an instruction may have to stall, but those that code and frequencies rule out. */
#include <math.h>
#include <string.h>

#include "analysis/stalls_private.h"
#include "code/schedule_parts.h"

#define CLASS_BIT(class)  (UINT64_C(1) << (class))
#define MULTIPLIERS       (CLASS_BIT(CLASS_MULTIPLY) | CLASS_BIT(CLASS_VECTOR_MULTIPLY))
#define DIVIDERS          (CLASS_BIT(CLASS_DIVIDE) | CLASS_BIT(CLASS_FLOAT_DIVIDE) | CLASS_BIT(CLASS_FLOAT_ROOT))
#define NEGLIGIBLE_CYCLES 0.5 /* an execution: no reason for a stall */
#define SAMPLES_MIN       10  /* of a block that was certainly run */
#define BLOCKS_MAX        3   /* between a branch and who waits for it */
#define WAYS_MAX          32  /* to a block, that are followed further */
#define LONG_LATENCY      2   /* cycles; a chain of such operations is slow */

/* The instruction that is looked at. */
struct scene {
	struct elimination *elimination;
	const struct instruction *instruction;
	uint32_t block, index; /* in the block */
	uint32_t at;           /* in the graph */
	struct suspect *suspects;
};

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

static bool
is_call(const struct instruction *instruction)
{
	return instruction->flow == FLOW_CALL || instruction->flow == FLOW_CALL_INDIRECT;
}

static struct suspect *
suspect(const struct scene *scene, enum stall_cause cause, double bound)
{
	struct suspect *suspect = &scene->suspects[cause];

	if (!suspect->is_possible)
		*suspect = (struct suspect){.is_possible = true, .bound = bound};
	else
		suspect->bound += bound;
	return suspect;
}

static void
blame(struct suspect *suspect, uint32_t instruction)
{
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		if (suspect->culprits[i] == instruction)
			return;
	if (suspect->culprit_count < SUSPECT_CULPRITS_MAX)
		suspect->culprits[suspect->culprit_count++] = instruction;
}

static void
blame_itself(const struct scene *scene, struct suspect *suspect)
{
	if (!scene->elimination->in_order)
		blame(suspect, scene->at);
}

/* The model's cycles, where cycles are the model's. */
static double
model_cycles(const struct scene *scene, double cycles)
{
	return scene->elimination->is_relative ? INFINITY : cycles;
}

static uint64_t
unit_of(const struct instruction *instruction, unsigned bytes)
{
	return (instruction->address + (instruction->size ? instruction->size - 1U : 0)) / bytes;
}

/* The share of its executions that come to the instruction from another line, or page, of `bytes`. */
static double
first_touches(const struct scene *scene, unsigned bytes)
{
	const struct flow_graph *graph = scene->elimination->graph;
	const struct flow_block *block = &graph->blocks[scene->block];
	double share = 0;

	if (bytes == 0)
		return 0;
	if (scene->index > 0)
		return unit_of(scene->instruction, bytes) != unit_of(scene->instruction - 1, bytes);
	for (uint32_t i = 0; i < block->in_count; i++) {
		const uint32_t edge = graph->ins[block->in + i], from = graph->edges[edge].from;
		const struct instruction *last;

		if (from != FLOW_OUTSIDE) {
			last = &graph->instructions[graph->blocks[from].first + graph->blocks[from].count - 1];
			if (!is_call(last) && unit_of(last, bytes) == unit_of(scene->instruction, bytes))
				continue;
		}
		share += edge_share(scene->elimination, edge, scene->block);
	}
	return fmin(share, 1);
}

static void
suspect_code(const struct scene *scene)
{
	const struct elimination *elimination = scene->elimination;
	const struct pipeline *pipeline = elimination->pipeline;
	double share = first_touches(scene, pipeline->cache_line);

	if (share > 0 && !elimination->fits_cache[scene->block])
		suspect(scene, CAUSE_CODE_CACHE, model_cycles(scene, share * pipeline->code.memory_cycles));
	share = first_touches(scene, pipeline->page_bytes);
	if (share > 0 && !elimination->fits_tlb[scene->block])
		suspect(scene, CAUSE_CODE_TLB, model_cycles(scene, share * pipeline->code_tlb.miss_cycles));
}

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

			if (!is_call(maker) && !is_loaded_by(maker, reg))
				continue;
			blame(suspect(scene, CAUSE_DATA_CACHE, INFINITY), walk.at[k]);
			blame(suspect(scene, CAUSE_DATA_TLB,
			              is_call(maker) ? INFINITY : model_cycles(scene, pipeline->data_tlb.miss_cycles)),
			      walk.at[k]);
		}
	}
}

static void
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

static void
suspect_synchronization(const struct scene *scene)
{
	const unsigned class = scene->instruction->class;

	if (class == CLASS_ATOMIC || class == CLASS_BARRIER)
		blame_itself(scene, suspect(scene, CAUSE_SYNCHRONIZATION, INFINITY));
	else if (scene->index > 0 && scene->instruction[-1].class == CLASS_BARRIER)
		blame(suspect(scene, CAUSE_SYNCHRONIZATION, INFINITY), scene->at - 1);
}

/* A fit may call a block never run that has samples: it ran, nobody knows how often. */
static bool
is_run_unknown(const struct elimination *elimination, uint32_t block)
{
	const struct frequencies *frequencies = elimination->input->frequencies;
	const struct flow_block *at;
	double samples = 0;

	if (block == FLOW_OUTSIDE || frequencies->blocks[block].value > 0)
		return false;
	at = &elimination->graph->blocks[block];
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		samples += frequencies->samples[i];
	return samples >= SAMPLES_MIN;
}

/*
 * How often, of the executions of the block it comes from, an edge is taken against the prediction. Of ways that are
 * nearly always the same, a predictor of an out-of-order core learns that much; the paper, of an older one, does not.
 */
static double
wrong_share(const struct elimination *elimination, uint32_t edge)
{
	const struct flow_graph *graph = elimination->graph;
	const struct frequency *frequencies = elimination->input->frequencies->edges;
	const struct flow_block *from = &graph->blocks[graph->edges[edge].from];
	double others = 0;

	if (elimination->in_order || frequencies[edge].confidence == CONFIDENCE_NONE || !(frequencies[edge].value > 0))
		return 1;
	for (uint32_t i = 0; i < from->out_count; i++) {
		const uint32_t other = graph->outs[from->out + i];

		if (other == edge)
			continue;
		if (is_run_unknown(elimination, graph->edges[other].to))
			return 1;
		others += frequencies[other].value;
	}
	return fmin(1, 2 * others / frequencies[edge].value);
}

/* Edges from a branch that lead to `block`, directly or, in order, over blocks that are done within the penalty. */
static void
suspect_branches(const struct scene *scene, uint32_t block, double share, double cycles, unsigned depth)
{
	const struct elimination *elimination = scene->elimination;
	const struct flow_graph *graph = elimination->graph;
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i], from = graph->edges[edge].from;
		const double here = share * edge_share(elimination, edge, block);
		const double best = from == FLOW_OUTSIDE ? 0 : elimination->input->schedules[from].best_cycles;
		uint32_t last;

		if (here < RARE_EDGE)
			continue;
		if (from == FLOW_OUTSIDE) { /* called through a pointer, perhaps */
			suspect(scene, CAUSE_MISPREDICT, model_cycles(scene, here * cycles));
			continue;
		}
		last = graph->blocks[from].first + graph->blocks[from].count - 1;
		if (graph->instructions[last].flow == FLOW_BRANCH ||
		    graph->instructions[last].flow == FLOW_JUMP_INDIRECT) {
			const double wrong = here * wrong_share(elimination, edge);

			if (wrong * cycles >= NEGLIGIBLE_CYCLES)
				blame(suspect(scene, CAUSE_MISPREDICT, model_cycles(scene, wrong * cycles)), last);
		} else if (depth > 0 && at->in_count <= WAYS_MAX && best < cycles &&
		           !is_call(&graph->instructions[last])) {
			suspect_branches(scene, from, here, cycles - best, depth - 1);
		}
	}
}

/* In order: it needs a unit that something before it still has, or what that makes. */
static void
suspect_unit(const struct scene *scene, enum stall_cause cause, uint64_t classes, unsigned of)
{
	const struct pipeline_operation *operation = &scene->elimination->pipeline->operations[of];
	const struct instruction *instruction = scene->instruction;
	double cycles = operation->latency;
	struct walk walk;

	for (unsigned i = 0; i < operation->use_count; i++)
		cycles = fmax(cycles, operation->uses[i].cycles);
	if (cycles <= 1)
		return;
	if (instruction->class < CLASS_COUNT && classes >> instruction->class & 1) {
		walk_back(scene->elimination, scene->block, scene->index, REGISTER_NONE, classes & CLASS_BIT(of),
		          cycles, &walk);
		for (uint32_t i = 0; i < walk.count; i++)
			if (!is_call(&scene->elimination->graph->instructions[walk.at[i]]))
				blame(suspect(scene, cause, model_cycles(scene, cycles)), walk.at[i]);
	}
	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		walk_back(scene->elimination, scene->block, scene->index, instruction->reads[i], 0, cycles, &walk);
		for (uint32_t k = 0; k < walk.count; k++)
			if (scene->elimination->graph->instructions[walk.at[k]].class == of)
				blame(suspect(scene, cause, model_cycles(scene, cycles)), walk.at[k]);
	}
}

static void
suspect_units(const struct scene *scene)
{
	if (!scene->elimination->in_order) {
		if (is_multiplier(scene->instruction->class))
			blame(suspect(scene, CAUSE_MULTIPLIER, INFINITY), scene->at);
		if (is_divider(scene->instruction->class))
			blame(suspect(scene, CAUSE_DIVIDER, INFINITY), scene->at);
		return;
	}
	for (unsigned class = 0; class < CLASS_COUNT; class ++) {
		if (is_multiplier(class))
			suspect_unit(scene, CAUSE_MULTIPLIER, MULTIPLIERS, class);
		if (is_divider(class))
			suspect_unit(scene, CAUSE_DIVIDER, DIVIDERS, class);
	}
}

static void
suspect_others(const struct scene *scene)
{
	const struct instruction *instruction = scene->instruction;
	const struct elimination *elimination = scene->elimination;
	const struct pipeline_operation *operation = pipeline_operation(elimination->pipeline, instruction);
	const unsigned class = instruction->class;

	if (class == CLASS_STRING || class == CLASS_SYSTEM || class == CLASS_UNKNOWN)
		blame_itself(scene, suspect(scene, CAUSE_OTHER, INFINITY));
	else if (!elimination->in_order && operation->latency >= LONG_LATENCY && !instruction->loads &&
	         !instruction->stores && !is_multiplier(class) && !is_divider(class))
		blame_itself(scene, suspect(scene, CAUSE_OTHER, model_cycles(scene, operation->latency)));
}

void
suspects_find(struct elimination *elimination, uint32_t block, uint32_t index, struct suspect suspects[CAUSE_COUNT])
{
	const uint32_t at = elimination->graph->blocks[block].first + index;
	const struct scene scene = {
		.elimination = elimination,
		.instruction = &elimination->graph->instructions[at],
		.block = block,
		.index = index,
		.at = at,
		.suspects = suspects,
	};

	memset(suspects, 0, CAUSE_COUNT * sizeof(*suspects));
	suspect_code(&scene);
	suspect_data(&scene);
	suspect_synchronization(&scene);
	if (index == 0)
		suspect_branches(&scene, block, 1, elimination->pipeline->mispredict_cycles,
		                 elimination->in_order ? BLOCKS_MAX : 0);
	suspect_units(&scene);
	suspect_others(&scene);
}
