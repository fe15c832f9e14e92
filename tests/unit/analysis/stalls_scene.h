/*
 * stalls_scene.h - a procedure made by hand, with samples and frequencies, for tests of its stalls
 */
#ifndef DCPI_TESTS_STALLS_SCENE_H
#define DCPI_TESTS_STALLS_SCENE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls.h"
#include "tests/unit/test.h"

#define SCENE_MAX 256 /* instructions, blocks, edges */

struct stalls_scene {
	struct instruction instructions[SCENE_MAX];
	struct flow_block blocks[SCENE_MAX];
	struct flow_edge edges[SCENE_MAX];
	uint32_t outs[SCENE_MAX], ins[SCENE_MAX];
	struct frequency block_frequencies[SCENE_MAX], edge_frequencies[SCENE_MAX];
	double samples[SCENE_MAX];
	uint64_t event_samples[SCENE_MAX];
	struct schedule schedules[SCENE_MAX];
	struct flow_graph graph;
	struct frequencies frequencies;
	struct pipeline pipeline;
	struct stalls_input input;
	struct stalls stalls;
};

static inline void
scene_begin(struct stalls_scene *scene, const char *model)
{
	char directory[4096], note[512];

	memset(scene, 0, sizeof(*scene));
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, model, "", &scene->pipeline, note, sizeof(note)), 0);
	scene->graph.instructions = scene->instructions;
	scene->graph.blocks = scene->blocks;
	scene->graph.edges = scene->edges;
	scene->graph.outs = scene->outs;
	scene->graph.ins = scene->ins;
	scene->graph.part_count = 1;
	scene->graph.is_complete = true;
}

/* A block of `count` instructions behind those that are there. */
static inline void
scene_block(struct stalls_scene *scene, const struct instruction *instructions, uint32_t count, double frequency)
{
	struct flow_graph *graph = &scene->graph;

	memcpy(scene->instructions + graph->instruction_count, instructions, count * sizeof(*instructions));
	scene->blocks[graph->block_count].first = (uint32_t)graph->instruction_count;
	scene->blocks[graph->block_count].count = count;
	scene->block_frequencies[graph->block_count] =
		(struct frequency){.value = frequency, .confidence = CONFIDENCE_HIGH, .method = FREQUENCY_COUNTED};
	graph->instruction_count += count;
	graph->part_blocks[1] = (uint32_t)++graph->block_count;
}

static inline void
scene_edge(struct stalls_scene *scene, uint32_t from, uint32_t to, enum flow_edge_kind kind, double frequency)
{
	scene->edge_frequencies[scene->graph.edge_count] =
		(struct frequency){.value = frequency, .confidence = CONFIDENCE_HIGH, .method = FREQUENCY_COUNTED};
	scene->edges[scene->graph.edge_count++] = (struct flow_edge){from, to, kind};
}

static inline bool
scene_link(struct stalls_scene *scene, uint32_t block)
{
	struct flow_block *at = &scene->blocks[block];
	uint32_t out = block ? at[-1].out + at[-1].out_count : 0, in = block ? at[-1].in + at[-1].in_count : 0;
	bool loops = false;

	at->out = out;
	at->in = in;
	for (uint32_t i = 0; i < scene->graph.edge_count; i++) {
		if (scene->edges[i].from == block)
			scene->outs[at->out + at->out_count++] = i;
		if (scene->edges[i].to == block)
			scene->ins[at->in + at->in_count++] = i;
		loops |= scene->edges[i].from == block && scene->edges[i].to == block;
	}
	return loops;
}

/* Schedule all blocks and find the stalls. */
static inline void
scene_find(struct stalls_scene *scene)
{
	stalls_fini(&scene->stalls);
	for (uint32_t i = 0; i < scene->graph.block_count; i++) {
		struct flow_block *block = &scene->blocks[i];
		bool loops;

		block->out_count = block->in_count = 0;
		loops = scene_link(scene, i);
		schedule_fini(&scene->schedules[i]);
		assert_int_equal(schedule_block(&scene->pipeline, scene->instructions + block->first, block->count,
		                                loops, NULL, NULL, &scene->schedules[i]),
		                 0);
	}
	scene->frequencies.blocks = scene->block_frequencies;
	scene->frequencies.edges = scene->edge_frequencies;
	scene->frequencies.samples = scene->samples;
	scene->input.graph = &scene->graph;
	scene->input.pipeline = &scene->pipeline;
	scene->input.schedules = scene->schedules;
	scene->input.frequencies = &scene->frequencies;
	assert_int_equal(stalls_find(&scene->input, &scene->stalls), 0);
}

static inline void
scene_end(struct stalls_scene *scene)
{
	stalls_fini(&scene->stalls);
	for (uint32_t i = 0; i < scene->graph.block_count; i++)
		schedule_fini(&scene->schedules[i]);
}

/* The letters of an instruction's reasons, in the order of figure 4. */
static inline const char *
scene_letters(const struct stalls_scene *scene, uint32_t instruction, char letters[CAUSE_COUNT + 1])
{
	const struct instruction_stalls *of = &scene->stalls.instructions[instruction];

	for (uint32_t i = 0; i < of->stall_count; i++)
		letters[i] = stall_cause_letter(scene->stalls.stalls[of->stall + i].cause);
	letters[of->stall_count] = '\0';
	return letters;
}

static inline void
assert_letters(const struct stalls_scene *scene, uint32_t instruction, const char *expected)
{
	char letters[CAUSE_COUNT + 1];

	assert_string_equal(scene_letters(scene, instruction, letters), expected);
}

static inline const struct stall *
scene_stall(const struct stalls_scene *scene, uint32_t instruction, enum stall_cause cause)
{
	const struct instruction_stalls *of = &scene->stalls.instructions[instruction];

	for (uint32_t i = 0; i < of->stall_count; i++)
		if (scene->stalls.stalls[of->stall + i].cause == cause)
			return &scene->stalls.stalls[of->stall + i];
	fail_msg("instruction %u has no such stall", instruction);
	return NULL;
}

/* The only culprit; 0 for none. */
static inline void
assert_culprit(const struct stalls_scene *scene, uint32_t instruction, enum stall_cause cause, uint64_t address)
{
	const struct stall *stall = scene_stall(scene, instruction, cause);

	assert_int_equal(stall->culprit_count, address != 0);
	if (address)
		assert_int_equal(scene->stalls.culprits[stall->culprit], address);
}

static inline void
assert_about(double value, double expected, double error)
{
	if (!(fabs(value - expected) <= error))
		fail_msg("%g is not %g", value, expected);
}

static inline struct instruction
scene_load(uint64_t address, uint8_t to, uint8_t base)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = CLASS_LOAD,
	                            .loads = true,
	                            .reads = {base},
	                            .read_count = 1,
	                            .address_reads = 1,
	                            .writes = {to},
	                            .write_count = 1};
}

static inline struct instruction
scene_store(uint64_t address, uint8_t from, uint8_t base)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = CLASS_STORE,
	                            .stores = true,
	                            .reads = {from, base},
	                            .read_count = 2,
	                            .address_reads = 1};
}

static inline struct instruction
scene_operation(uint64_t address, enum instruction_class class, uint8_t a, uint8_t b, uint8_t to)
{
	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = class,
	                            .reads = {a, b},
	                            .read_count = b == REGISTER_NONE ? 1 : 2,
	                            .writes = {to},
	                            .write_count = 1};
}

static inline struct instruction
scene_nop(uint64_t address)
{
	return (struct instruction){.address = address, .size = 4, .class = CLASS_INTEGER};
}

static inline struct instruction
scene_jump(uint64_t address, enum instruction_flow flow, uint8_t reg)
{
	static const uint8_t classes[] = {
		[FLOW_BRANCH] = CLASS_BRANCH, [FLOW_JUMP] = CLASS_JUMP,          [FLOW_JUMP_INDIRECT] = CLASS_JUMP,
		[FLOW_CALL] = CLASS_CALL,     [FLOW_CALL_INDIRECT] = CLASS_CALL, [FLOW_RETURN] = CLASS_RETURN,
		[FLOW_STOP] = CLASS_SYSTEM,
	};

	return (struct instruction){.address = address,
	                            .size = 4,
	                            .class = classes[flow],
	                            .flow = flow,
	                            .reads = {reg},
	                            .read_count = flow == FLOW_BRANCH || flow == FLOW_JUMP_INDIRECT};
}

#endif
