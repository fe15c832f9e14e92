/*
 * generated_program.h - random procedures that run in a simulation, and what a sampler would have seen of them
 *
 * A procedure of loops, branches and switches, with the cycles each instruction takes at least and the stalls it has
 * now and then. It runs block by block, chance deciding each branch: so what each block and edge ran is known exactly,
 * and samples come from a clock with a random period. All from a seed: the same seed, the same numbers.
 */
#ifndef DCPI_TESTS_GENERATED_PROGRAM_H
#define DCPI_TESTS_GENERATED_PROGRAM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "code/cycle_equivalence.h"
#include "code/flow_graph.h"

#define GENERATED_RETIRED_PERIOD 64  /* instructions a sample of them, on average */
#define GENERATED_WINDOW         256 /* instructions that an out-of-order core has in flight */

struct generated_instruction {
	double minimum;      /* M: cycles at least, in order */
	double stalls;       /* how often it takes longer */
	double stall_cycles; /* by so much, on average */
	uint32_t needs;      /* the result of the instruction so many before it, or 0 */
	double latency;      /* cycles to its own result */
};

struct generated_program {
	struct flow_graph graph;
	struct generated_instruction *code;
	double *likely;         /* per edge: how likely it is taken from its block */
	uint64_t *block_counts; /* what ran */
	uint64_t *edge_counts;
	uint64_t *samples;     /* per instruction */
	uint64_t *retired;     /* samples of a count of instructions, per instruction */
	uint64_t *burst_edges; /* edges in recorded pieces of the run */
	struct cycle_equivalence equivalence;
	uint64_t random;
	double period; /* cycles per sample */
	size_t edge_room, block_room;
};

static inline uint64_t
generated_bits(struct generated_program *program)
{
	program->random ^= program->random << 13;
	program->random ^= program->random >> 7;
	program->random ^= program->random << 17;
	return program->random * 0x2545f4914f6cdd1dULL;
}

/* 0 to below 1. */
static inline double
generated_chance(struct generated_program *program)
{
	return (double)(generated_bits(program) >> 11) / 9007199254740992.0;
}

static inline uint32_t
generated_below(struct generated_program *program, uint32_t limit)
{
	return (uint32_t)(generated_bits(program) >> 33) % limit;
}

static inline uint32_t
generated_block(struct generated_program *program)
{
	struct flow_graph *graph = &program->graph;

	if (graph->block_count == program->block_room) {
		program->block_room = program->block_room * 2 + 16;
		graph->blocks = reallocarray(graph->blocks, program->block_room, sizeof(*graph->blocks));
		assert(graph->blocks);
	}
	graph->blocks[graph->block_count] = (struct flow_block){.count = 1 + generated_below(program, 9)};
	return (uint32_t)graph->block_count++;
}

static inline void
generated_edge(struct generated_program *program, uint32_t from, uint32_t to, enum flow_edge_kind kind, double likely)
{
	struct flow_graph *graph = &program->graph;

	if (graph->edge_count == program->edge_room) {
		program->edge_room = program->edge_room * 2 + 16;
		graph->edges = reallocarray(graph->edges, program->edge_room, sizeof(*graph->edges));
		program->likely = reallocarray(program->likely, program->edge_room, sizeof(double));
		assert(graph->edges && program->likely);
	}
	program->likely[graph->edge_count] = likely;
	graph->edges[graph->edge_count++] = (struct flow_edge){from, to, kind};
}

static inline uint32_t generated_region(struct generated_program *program, uint32_t from, int depth);

/* Some ways that part at `from` and meet again. */
static inline uint32_t
generated_branch(struct generated_program *program, uint32_t from, uint32_t ways, bool may_skip, int depth)
{
	double rest = 1;
	uint32_t *ends = calloc(ways, sizeof(*ends));
	uint32_t join;

	assert(ends);
	for (uint32_t i = 0; i < ways; i++) {
		const double likely = i + 1 < ways || may_skip ? rest * generated_chance(program) : rest;
		const uint32_t way = generated_block(program);

		rest -= likely;
		generated_edge(program, from, way, i == 0 ? EDGE_FALL : EDGE_TABLE, likely);
		ends[i] = generated_region(program, way, depth - 1);
	}
	join = generated_block(program);
	for (uint32_t i = 0; i < ways; i++)
		generated_edge(program, ends[i], join, EDGE_FALL, 1);
	if (may_skip)
		generated_edge(program, from, join, EDGE_TAKEN, rest);
	free(ends);
	return join;
}

static inline uint32_t
generated_loop(struct generated_program *program, uint32_t from, int depth)
{
	const double trips = 2 + 30 * generated_chance(program) * generated_chance(program);
	const uint32_t head = generated_block(program);
	const uint32_t end = generated_region(program, head, depth - 1);
	const uint32_t after = generated_block(program);

	generated_edge(program, from, head, EDGE_FALL, 1);
	generated_edge(program, end, head, EDGE_TAKEN, 1 - 1 / trips);
	if (generated_chance(program) < 0.15) { /* a return inside */
		generated_edge(program, end, FLOW_OUTSIDE, EDGE_EXIT, 0.2 / trips);
		generated_edge(program, end, after, EDGE_FALL, 0.8 / trips);
	} else {
		generated_edge(program, end, after, EDGE_FALL, 1 / trips);
	}
	return after;
}

/* Code that goes on from `from`; the block where it ends, with nothing behind it yet. */
static inline uint32_t
generated_region(struct generated_program *program, uint32_t from, int depth)
{
	const uint32_t parts = depth > 0 ? 1 + generated_below(program, 3) : 0;

	for (uint32_t i = 0; i < parts; i++) {
		const double kind = generated_chance(program);

		if (kind < 0.30)
			from = generated_loop(program, from, depth);
		else if (kind < 0.60)
			from = generated_branch(program, from, 1, true, depth);
		else if (kind < 0.90)
			from = generated_branch(program, from, 2, false, depth);
		else
			from = generated_branch(program, from, 3 + generated_below(program, 4), true, depth);
	}
	return from;
}

static inline void
generated_lists(struct flow_graph *graph)
{
	uint32_t at = 0;

	graph->outs = calloc(graph->edge_count, sizeof(*graph->outs));
	graph->ins = calloc(graph->edge_count, sizeof(*graph->ins));
	assert(graph->outs && graph->ins);
	for (uint32_t i = 0; i < graph->block_count; i++) {
		graph->blocks[i].out = at;
		for (uint32_t k = 0; k < graph->edge_count; k++)
			if (graph->edges[k].from == i)
				graph->outs[at++] = k;
		graph->blocks[i].out_count = at - graph->blocks[i].out;
	}
	at = 0;
	for (uint32_t i = 0; i < graph->block_count; i++) {
		graph->blocks[i].in = at;
		for (uint32_t k = 0; k < graph->edge_count; k++)
			if (graph->edges[k].to == i)
				graph->ins[at++] = k;
		graph->blocks[i].in_count = at - graph->blocks[i].in;
	}
}

/* Two issue at once where they can; one in six waits for the one before; one in five stalls now and then. */
static inline void
generated_code(struct generated_program *program)
{
	struct flow_graph *graph = &program->graph;

	for (size_t i = 0; i < graph->block_count; i++) {
		graph->blocks[i].first = (uint32_t)graph->instruction_count;
		graph->instruction_count += graph->blocks[i].count;
	}
	program->code = calloc(graph->instruction_count, sizeof(*program->code));
	assert(program->code);
	for (size_t i = 0; i < graph->block_count; i++) {
		double before = 0;

		for (uint32_t k = 0; k < graph->blocks[i].count; k++) {
			struct generated_instruction *one = &program->code[graph->blocks[i].first + k];

			one->minimum = before > 0 && generated_chance(program) < 0.4 ? 0 : 1;
			if (one->minimum > 0 && k > 0 && generated_chance(program) < 0.15)
				one->minimum = 2 + generated_below(program, 2);
			before = one->minimum;
			one->needs = generated_chance(program) < 0.5 ? 1 + generated_below(program, 6) : 0;
			one->latency = generated_chance(program) < 0.7 ? 1 : 4;
			if (generated_chance(program) >= 0.2)
				continue;
			one->stalls = generated_chance(program) * generated_chance(program);
			one->stall_cycles = 2 + 60 * generated_chance(program) * generated_chance(program);
		}
	}
}

/* A procedure of some 10 to 150 blocks at depth 3. */
static inline struct generated_program
generated_program_make(uint64_t seed, int depth)
{
	struct generated_program program = {.random = seed * 0x9e3779b97f4a7c15ULL + 1};
	uint32_t entry, end;
	int err;

	for (int i = 0; i < 10; i++)
		generated_bits(&program);
	entry = generated_block(&program);
	generated_edge(&program, FLOW_OUTSIDE, entry, EDGE_ENTRY, 1);
	end = generated_region(&program, entry, depth);
	generated_edge(&program, end, FLOW_OUTSIDE, EDGE_EXIT, 1);
	program.graph.is_complete = true;
	generated_lists(&program.graph);
	generated_code(&program);
	err = cycle_equivalence_find(&program.graph, &program.equivalence);
	program.block_counts = calloc(program.graph.block_count, sizeof(uint64_t));
	program.edge_counts = calloc(program.graph.edge_count, sizeof(uint64_t));
	program.burst_edges = calloc(program.graph.edge_count, sizeof(uint64_t));
	program.samples = calloc(program.graph.instruction_count, sizeof(uint64_t));
	program.retired = calloc(program.graph.instruction_count, sizeof(uint64_t));
	assert(!err && program.block_counts && program.edge_counts && program.burst_edges && program.samples &&
	       program.retired);
	return program;
}

static inline void
generated_program_free(struct generated_program *program)
{
	free(program->graph.blocks);
	free(program->graph.edges);
	free(program->graph.outs);
	free(program->graph.ins);
	free(program->code);
	free(program->likely);
	free(program->block_counts);
	free(program->edge_counts);
	free(program->burst_edges);
	free(program->samples);
	free(program->retired);
	cycle_equivalence_fini(&program->equivalence);
}

/* Which way it goes from `block`; FLOW_OUTSIDE: it returned and is called again. */
static inline uint32_t
generated_next(struct generated_program *program, uint32_t block, bool is_burst)
{
	const struct flow_block *at = &program->graph.blocks[block];
	double chance = generated_chance(program);
	uint32_t edge = program->graph.outs[at->out];

	for (uint32_t i = 0; i < at->out_count; i++) {
		edge = program->graph.outs[at->out + i];
		chance -= program->likely[edge];
		if (chance < 0)
			break;
	}
	program->edge_counts[edge]++;
	if (is_burst)
		program->burst_edges[edge]++;
	return program->graph.edges[edge].to;
}

/*
 * When an instruction is through: in order, a sample lies on the one that holds up all others; out of order, on the
 * first that has not retired, and is seen `skid` later.
 */
struct generated_core {
	bool is_out_of_order;
	double width;
	unsigned skid;
	double now;                       /* when the instruction before was through */
	double results[GENERATED_WINDOW]; /* when results are there */
	double retired[GENERATED_WINDOW];
	uint64_t count; /* instructions so far */
	double fetched; /* when the next can begin */
	double next_sample;
	uint64_t late[9]; /* samples that are to be seen so many instructions later */
};

static inline double
generated_retire(struct generated_program *program, struct generated_core *core,
                 const struct generated_instruction *one, bool is_last)
{
	const uint64_t at = core->count, slot = at % GENERATED_WINDOW;
	const bool stalls = one->stalls > 0 && generated_chance(program) < one->stalls;
	const double longer = stalls ? one->stall_cycles : 0;
	const uint64_t group = (uint64_t)core->width;
	double begins, through;

	if (!core->is_out_of_order)
		return core->now + one->minimum + longer;
	begins = core->fetched;
	if (at >= GENERATED_WINDOW && core->retired[slot] > begins)
		begins = core->retired[slot];
	core->fetched = begins + 1 / core->width;
	if (one->needs > 0 && at >= one->needs && core->results[(at - one->needs) % GENERATED_WINDOW] > begins)
		begins = core->results[(at - one->needs) % GENERATED_WINDOW];
	through = begins + one->latency + (is_last ? 0 : longer);
	core->results[slot] = through;
	if (is_last && stalls) /* a branch that was guessed wrong: what follows begins late */
		core->fetched = through + 12;
	if (at >= group && core->retired[(at - group) % GENERATED_WINDOW] + 1 > through)
		through = core->retired[(at - group) % GENERATED_WINDOW] + 1;
	if (through < core->now)
		through = core->now;
	core->retired[slot] = through;
	return through;
}

/* Run it for so many samples, one in `period` cycles; the counts and samples add to those that are there. */
static inline void
generated_program_run(struct generated_program *program, uint64_t samples, double period, bool is_out_of_order,
                      unsigned skid)
{
	struct generated_core core = {.is_out_of_order = is_out_of_order, .width = 4, .skid = skid};
	uint32_t block = 0;
	uint64_t taken = 0, next_retired = 64;

	assert(skid <= 8);
	program->period = period;
	core.next_sample = period;
	program->edge_counts[0]++;
	while (taken < samples) {
		const struct flow_block *at = &program->graph.blocks[block];

		program->block_counts[block]++;
		for (uint32_t i = 0; i < at->count; i++) {
			const uint32_t index = at->first + i;

			core.now = generated_retire(program, &core, &program->code[index], i + 1 == at->count);
			program->samples[index] += core.late[core.count % 9];
			core.late[core.count % 9] = 0;
			while (core.next_sample < core.now) {
				core.next_sample += period * (0.5 + generated_chance(program));
				taken++;
				if (skid == 0)
					program->samples[index]++;
				else
					core.late[(core.count + skid) % 9]++;
			}
			if (++core.count == next_retired) {
				program->retired[index]++;
				next_retired += GENERATED_RETIRED_PERIOD / 2 +
				                generated_below(program, GENERATED_RETIRED_PERIOD + 1);
			}
		}
		block = generated_next(program, block, core.count % 4096 < 200);
		if (block != FLOW_OUTSIDE)
			continue;
		program->edge_counts[0]++;
		block = 0;
	}
}

#endif
