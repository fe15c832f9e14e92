/* Loops whose code, or data, stays in the cache, and how far apart the accesses of their instructions are. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls_internal.h"

#define ROUNDS_MIN   8 /* iterations of a loop, for each time it is entered */
#define ACCESSES_MAX 8 /* to memory, in an iteration: as many lines as a set of a cache holds, mostly */

#define DEPTH 8  /* values made of values */
#define CHAIN 16 /* additions round a loop */

/* Loops: strongly connected components of the flow graph, and single blocks. */

/* What is known of a part. */
struct loop_part {
	uint64_t bytes; /* of code, in whole lines */
	bool calls;
	bool is_loop;
	uint32_t accesses;    /* instructions that load or store */
	double entered, most; /* how often; and of its blocks the one that runs most */
};

static double
known_value(const struct frequency *frequency)
{
	return frequency->confidence == CONFIDENCE_NONE ? 0 : frequency->value;
}

static void
part_add_block(const struct stall_analysis *analysis, uint32_t block, struct loop_part *part)
{
	const struct flow_graph *graph = analysis->graph;
	const struct flow_block *at = &graph->blocks[block];
	const struct instruction *first = &graph->instructions[at->first], *last = first + at->count - 1;
	const double value = known_value(&analysis->input->frequencies->blocks[block]);

	part->bytes += last->address + last->size - first->address + analysis->pipeline->cache_line;
	for (uint32_t i = 0; i < at->count; i++)
		part->accesses += first[i].loads || first[i].stores;
	part->calls |= instruction_is_call(last);
	if (value > part->most)
		part->most = value;
}

static bool
iterates(const struct loop_part *part)
{
	return part->is_loop && !part->calls && part->most > 0 && part->entered * ROUNDS_MIN <= part->most;
}

/* Between two executions of a block that runs in every second iteration at least, not much else is touched. */
static bool
keeps_data(const struct loop_part *part, double value)
{
	return iterates(part) && part->accesses <= ACCESSES_MAX && 2 * value >= part->most;
}

static void
apply_part(const struct stall_analysis *analysis, const struct loop_part *part, uint32_t block)
{
	const struct pipeline *pipeline = analysis->pipeline;
	const uint64_t reach = (uint64_t)pipeline->code_tlb.entries * pipeline->page_bytes;
	const double value = known_value(&analysis->input->frequencies->blocks[block]);

	analysis->fits_cache[block] |= iterates(part) && part->bytes <= pipeline->code_cache_bytes;
	analysis->fits_tlb[block] |= iterates(part) && part->bytes <= reach;
	analysis->keeps_data[block] |= keeps_data(part, value);
}

/* A block that follows itself, whatever outer loop it is in. */
static void
apply_block(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_graph *graph = analysis->graph;
	const struct flow_block *at = &graph->blocks[block];
	struct loop_part part = {0};

	part_add_block(analysis, block, &part);
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i];

		if (graph->edges[edge].from == block)
			part.is_loop = true;
		else
			part.entered += known_value(&analysis->input->frequencies->edges[edge]);
	}
	apply_part(analysis, &part, block);
}

static void
apply_parts(const struct stall_analysis *analysis, const uint32_t *components, struct loop_part *parts)
{
	const struct flow_graph *graph = analysis->graph;

	for (uint32_t i = 0; i < graph->block_count; i++)
		part_add_block(analysis, i, &parts[components[i]]);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if (edge->to == FLOW_OUTSIDE)
			continue;
		if (edge->from != FLOW_OUTSIDE && components[edge->from] == components[edge->to])
			parts[components[edge->to]].is_loop = true;
		else
			parts[components[edge->to]].entered += known_value(&analysis->input->frequencies->edges[i]);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		apply_part(analysis, &parts[components[i]], i);
		apply_block(analysis, i);
	}
}

int
stall_find_loops(struct stall_analysis *analysis)
{
	const size_t count = analysis->graph->block_count;
	uint32_t *components = workspace_array(&analysis->space, count, sizeof(*components));
	struct loop_part *parts = workspace_array(&analysis->space, count, sizeof(*parts));
	int err = analysis->space.has_failed ? -ENOMEM : flow_graph_components(analysis->graph, components);

	if (!err)
		apply_parts(analysis, components, parts);
	return err;
}

/*
 * Strides: how far apart an instruction's accesses are, one execution to the next.
 *
 * Its address is a sum of registers. Each is followed back round its loop, over edges that are not rare: what nothing
 * writes there stays; what comes back to itself by moves, masks and additions of constants moves by their sum; what is
 * made of others by scaled sums and shifts moves as they do. Everything else is not known; nothing is known either once
 * all searches together took more steps than the procedure is long, many times over.
 */

struct stride_trace {
	struct stall_analysis *analysis;
	uint32_t block; /* of the access */
	int depth;
};

/* An instruction that makes a value. */
struct stride_maker {
	uint32_t at; /* of the graph */
	struct instruction_detail detail;
};

enum maker_found {
	FOUND_NOTHING, /* it stays */
	FOUND_ONE,
	FOUND_UNKNOWN,
};

static bool register_stride(struct stride_trace *trace, uint32_t at, uint8_t reg, double *stride); /* recursive */

static bool
detail_of(const struct stall_analysis *analysis, uint32_t at, struct instruction_detail *detail)
{
	const struct stalls_input *input = analysis->input;

	return input->detail && input->detail(input->argument, &analysis->graph->instructions[at], detail) == 0;
}

/* What makes `reg` before instruction `at`. */
static enum maker_found
find_maker(const struct stride_trace *trace, uint32_t at, uint8_t reg, struct stride_maker *maker)
{
	const struct flow_graph *graph = trace->analysis->graph;
	const uint32_t block = flow_graph_block_at(graph, graph->instructions[at].address);
	struct stall_walk walk;

	if (block == FLOW_OUTSIDE || trace->analysis->stride_steps_left == 0)
		return FOUND_UNKNOWN;
	stall_walk_back(trace->analysis, block, at - graph->blocks[block].first, reg, 0, INFINITY, &walk);
	trace->analysis->stride_steps_left -=
		walk.steps < trace->analysis->stride_steps_left ? walk.steps : trace->analysis->stride_steps_left;
	if (walk.from_caller || walk.is_lost || walk.count > 1)
		return FOUND_UNKNOWN;
	if (walk.count == 0)
		return FOUND_NOTHING;
	maker->at = walk.at[0];
	if (instruction_is_call(&graph->instructions[maker->at]) ||
	    !detail_of(trace->analysis, maker->at, &maker->detail))
		return FOUND_UNKNOWN;
	return FOUND_ONE;
}

static bool
is_named(const struct instruction_detail *detail, const char *name)
{
	return strcmp(detail->mnemonic, name) == 0;
}

static bool
is_register(const struct instruction_operand *operand)
{
	return operand->kind == OPERAND_REGISTER && operand->reg != REGISTER_NONE;
}

/* Whether it adds a constant to a register, and which: `add r, 8`, `inc r`, `lea r, [s - 8]`, `add x0, x1, #8`. */
static bool
is_addition(const struct instruction_detail *detail, uint8_t *from, double *added)
{
	const struct instruction_operand *operands = detail->operands, *last;

	if (detail->operand_count < 1 || detail->operand_count > 3 || !is_register(&operands[0]))
		return false;
	*from = operands[0].reg;
	last = &operands[detail->operand_count - 1];
	if (is_named(detail, "inc") || is_named(detail, "dec")) {
		*added = is_named(detail, "inc") ? 1 : -1;
		return true;
	}
	if (is_named(detail, "lea") && last->kind == OPERAND_MEMORY && last->base != REGISTER_NONE &&
	    last->index == REGISTER_NONE && !last->is_pc) {
		*from = last->base;
		*added = (double)last->value;
		return true;
	}
	if ((!is_named(detail, "add") && !is_named(detail, "sub")) || last->kind != OPERAND_IMMEDIATE ||
	    detail->operand_count < 2 || last->shift > 32)
		return false;
	if (detail->operand_count == 3 && !is_register(&operands[1]))
		return false;
	*from = operands[detail->operand_count - 2].reg;
	*added = ldexp((double)last->value, last->shift) * (is_named(detail, "add") ? 1 : -1);
	return true;
}

/* `mov r, s`, and `and r, mask`, whose bits move no more than the value does, on average: what comes in goes on. */
static bool
is_copy(struct stride_trace *trace, const struct stride_maker *maker, uint8_t *from)
{
	const struct instruction_detail *detail = &maker->detail;
	const struct instruction_operand *last;
	double mask = 0;

	if (detail->operand_count < 2)
		return false;
	last = &detail->operands[detail->operand_count - 1];
	if (!is_register(last - 1))
		return false;
	if (is_named(detail, "and")) {
		*from = last[-1].reg;
		return last->kind == OPERAND_IMMEDIATE ||
		       (is_register(last) && register_stride(trace, maker->at, last->reg, &mask) && mask == 0);
	}
	*from = last->reg;
	return (is_named(detail, "mov") || is_named(detail, "movsxd")) && detail->operand_count == 2 &&
	       is_register(last);
}

static bool
address_stride(struct stride_trace *trace, uint32_t at, const struct instruction_operand *memory, double *stride)
{
	double base = 0, index = 0;

	if (memory->index != REGISTER_NONE && memory->index >= REGISTER_VECTOR) /* of several places */
		return false;
	if (!memory->is_pc && memory->base != REGISTER_NONE && !register_stride(trace, at, memory->base, &base))
		return false;
	if (memory->index != REGISTER_NONE && !register_stride(trace, at, memory->index, &index))
		return false;
	*stride = base + index * memory->scale;
	return true;
}

/* How a value moves that `maker` makes of others: `mov r, 5`, `lea r, [s + 8 * t]`, `shl r, 6`. */
static bool
made_stride(struct stride_trace *trace, const struct stride_maker *maker, double *stride)
{
	const struct instruction_detail *detail = &maker->detail;
	const struct instruction_operand *last;

	*stride = 0;
	if (trace->analysis->graph->instructions[maker->at].clears)
		return true;
	if (detail->operand_count < 2 || !is_register(&detail->operands[0]))
		return false;
	last = &detail->operands[detail->operand_count - 1];
	if (is_named(detail, "lea") && last->kind == OPERAND_MEMORY)
		return address_stride(trace, maker->at, last, stride);
	if (last->kind != OPERAND_IMMEDIATE)
		return false;
	if (is_named(detail, "mov"))
		return true;
	if ((!is_named(detail, "shl") && !is_named(detail, "lsl")) || !is_register(last - 1) ||
	    !register_stride(trace, maker->at, last[-1].reg, stride))
		return false;
	*stride = ldexp(*stride, (int)(last->value & 63));
	return true;
}

/* How often instruction `at` runs for each execution of the access. */
static double
executions_ratio(const struct stride_trace *trace, uint32_t at)
{
	const struct flow_graph *graph = trace->analysis->graph;
	const struct frequency *blocks = trace->analysis->input->frequencies->blocks;
	const uint32_t block = flow_graph_block_at(graph, graph->instructions[at].address);

	return block == trace->block ? 1 : blocks[block].value / blocks[trace->block].value;
}

/* The additions on the path of a value back round its loop. */
struct addition_chain {
	uint32_t at[CHAIN]; /* instructions */
	double sums[CHAIN]; /* of what those before them add */
	unsigned count;
};

/* Whether the path comes to instruction `at` again; *first is then its earlier index. */
static bool
chain_closes(const struct addition_chain *chain, uint32_t at, unsigned *first)
{
	for (*first = 0; *first < chain->count; ++*first)
		if (chain->at[*first] == at)
			return true;
	return false;
}

/* By how much `reg` before instruction `at` moves from one time to the next. */
static bool
follow_chain(struct stride_trace *trace, uint32_t at, uint8_t reg, double *stride)
{
	struct addition_chain chain = {.count = 0};
	double sum = 0;

	while (chain.count < CHAIN) {
		struct stride_maker maker;
		double added = 0;
		unsigned first;
		uint8_t from;
		const enum maker_found found = find_maker(trace, at, reg, &maker);

		*stride = 0;
		if (found != FOUND_ONE)
			return found == FOUND_NOTHING;
		if (chain_closes(&chain, maker.at, &first)) {
			*stride = (sum - chain.sums[first]) * executions_ratio(trace, maker.at);
			return true;
		}
		if (!is_addition(&maker.detail, &from, &added) && !is_copy(trace, &maker, &from))
			return made_stride(trace, &maker, stride);
		chain.at[chain.count] = maker.at;
		chain.sums[chain.count++] = sum;
		sum += added;
		at = maker.at;
		reg = from;
	}
	return false;
}

static bool
register_stride(struct stride_trace *trace, uint32_t at, uint8_t reg, double *stride)
{
	bool is_known;

	if (trace->depth == 0)
		return false;
	trace->depth--;
	is_known = follow_chain(trace, at, reg, stride);
	trace->depth++;
	return is_known;
}

bool
stall_find_stride(struct stall_analysis *analysis, uint32_t at, double *bytes)
{
	struct stride_trace trace = {
		.analysis = analysis,
		.block = flow_graph_block_at(analysis->graph, analysis->graph->instructions[at].address),
		.depth = DEPTH,
	};
	struct instruction_detail detail;

	if (trace.block == FLOW_OUTSIDE || !detail_of(analysis, at, &detail))
		return false;
	for (size_t i = 0; i < detail.operand_count; i++)
		if (detail.operands[i].kind == OPERAND_MEMORY)
			return address_stride(&trace, at, &detail.operands[i], bytes) && isfinite(*bytes);
	return false;
}
