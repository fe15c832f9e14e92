/*
 * How far apart an instruction's accesses are, one execution to the next.
 *
 * Its address is a sum of registers. Each is followed back round its loop, on ways that are not rare: what nothing
 * writes there stays; what comes back to itself by moves, masks and additions of constants moves by their sum; what is
 * made of others by scaled sums and shifts moves as they do. Everything else is not known; nor is anything once all
 * searches together took more steps than the procedure is long, many times over.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls_suspects.h"

#define DEPTH 8  /* values made of values */
#define CHAIN 16 /* additions round a loop */

struct trace {
	struct elimination *elimination;
	uint32_t block; /* of the access */
	int depth;
};

/* One instruction in the way of a value. */
struct link {
	uint32_t at; /* of the graph */
	struct instruction_detail detail;
};

enum found {
	FOUND_NOTHING, /* it stays */
	FOUND_ONE,
	FOUND_UNKNOWN,
};

static bool step_of(struct trace *trace, uint32_t at, uint8_t reg, double *step);

static bool
detail_of(const struct elimination *elimination, uint32_t at, struct instruction_detail *detail)
{
	const struct stalls_input *input = elimination->input;

	return input->detail && input->detail(input->argument, &elimination->graph->instructions[at], detail) == 0;
}

/* What makes `reg` before instruction `at`. */
static enum found
find_maker(const struct trace *trace, uint32_t at, uint8_t reg, struct link *link)
{
	const struct flow_graph *graph = trace->elimination->graph;
	const uint32_t block = flow_graph_block_at(graph, graph->instructions[at].address);
	struct walk walk;

	if (block == FLOW_OUTSIDE || trace->elimination->steps_left == 0)
		return FOUND_UNKNOWN;
	walk_back(trace->elimination, block, at - graph->blocks[block].first, reg, 0, INFINITY, &walk);
	trace->elimination->steps_left -=
		walk.steps < trace->elimination->steps_left ? walk.steps : trace->elimination->steps_left;
	if (walk.from_caller || walk.is_lost || walk.count > 1)
		return FOUND_UNKNOWN;
	if (walk.count == 0)
		return FOUND_NOTHING;
	link->at = walk.at[0];
	if (is_call_site(&graph->instructions[link->at]) || !detail_of(trace->elimination, link->at, &link->detail))
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
is_copy(struct trace *trace, const struct link *link, uint8_t *from)
{
	const struct instruction_detail *detail = &link->detail;
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
		       (is_register(last) && step_of(trace, link->at, last->reg, &mask) && mask == 0);
	}
	*from = last->reg;
	return (is_named(detail, "mov") || is_named(detail, "movsxd")) && detail->operand_count == 2 &&
	       is_register(last);
}

static bool
sum_step(struct trace *trace, uint32_t at, const struct instruction_operand *memory, double *step)
{
	double base = 0, index = 0;

	if (memory->index != REGISTER_NONE && memory->index >= REGISTER_VECTOR) /* of several places */
		return false;
	if (!memory->is_pc && memory->base != REGISTER_NONE && !step_of(trace, at, memory->base, &base))
		return false;
	if (memory->index != REGISTER_NONE && !step_of(trace, at, memory->index, &index))
		return false;
	*step = base + index * memory->scale;
	return true;
}

/* How a value moves that `link` makes of others: `mov r, 5`, `lea r, [s + 8 * t]`, `shl r, 6`. */
static bool
made_step(struct trace *trace, const struct link *link, double *step)
{
	const struct instruction_detail *detail = &link->detail;
	const struct instruction_operand *last;

	*step = 0;
	if (trace->elimination->graph->instructions[link->at].clears)
		return true;
	if (detail->operand_count < 2 || !is_register(&detail->operands[0]))
		return false;
	last = &detail->operands[detail->operand_count - 1];
	if (is_named(detail, "lea") && last->kind == OPERAND_MEMORY)
		return sum_step(trace, link->at, last, step);
	if (last->kind != OPERAND_IMMEDIATE)
		return false;
	if (is_named(detail, "mov"))
		return true;
	if ((!is_named(detail, "shl") && !is_named(detail, "lsl")) || !is_register(last - 1) ||
	    !step_of(trace, link->at, last[-1].reg, step))
		return false;
	*step = ldexp(*step, (int)(last->value & 63));
	return true;
}

/* How often instruction `at` runs for each execution of the one that is asked about. */
static double
executions_ratio(const struct trace *trace, uint32_t at)
{
	const struct flow_graph *graph = trace->elimination->graph;
	const struct frequency *blocks = trace->elimination->input->frequencies->blocks;
	const uint32_t block = flow_graph_block_at(graph, graph->instructions[at].address);

	return block == trace->block ? 1 : blocks[block].value / blocks[trace->block].value;
}

/* The additions on the way of a value back round its loop. */
struct chain {
	uint32_t at[CHAIN]; /* instructions */
	double sums[CHAIN]; /* of what those before them add */
	unsigned count;
};

/* Whether the way comes to instruction `at` again; *first is then when it did before. */
static bool
chain_closes(const struct chain *chain, uint32_t at, unsigned *first)
{
	for (*first = 0; *first < chain->count; ++*first)
		if (chain->at[*first] == at)
			return true;
	return false;
}

/* By how much `reg` before instruction `at` moves from one time to the next. */
static bool
follow(struct trace *trace, uint32_t at, uint8_t reg, double *step)
{
	struct chain chain = {.count = 0};
	double sum = 0;

	while (chain.count < CHAIN) {
		struct link link;
		double added = 0;
		unsigned first;
		uint8_t from;
		const enum found found = find_maker(trace, at, reg, &link);

		*step = 0;
		if (found != FOUND_ONE)
			return found == FOUND_NOTHING;
		if (chain_closes(&chain, link.at, &first)) {
			*step = (sum - chain.sums[first]) * executions_ratio(trace, link.at);
			return true;
		}
		if (!is_addition(&link.detail, &from, &added) && !is_copy(trace, &link, &from))
			return made_step(trace, &link, step);
		chain.at[chain.count] = link.at;
		chain.sums[chain.count++] = sum;
		sum += added;
		at = link.at;
		reg = from;
	}
	return false;
}

static bool
step_of(struct trace *trace, uint32_t at, uint8_t reg, double *step)
{
	bool is_known;

	if (trace->depth == 0)
		return false;
	trace->depth--;
	is_known = follow(trace, at, reg, step);
	trace->depth++;
	return is_known;
}

bool
find_stride(struct elimination *elimination, uint32_t at, double *bytes)
{
	struct trace trace = {
		.elimination = elimination,
		.block = flow_graph_block_at(elimination->graph, elimination->graph->instructions[at].address),
		.depth = DEPTH,
	};
	struct instruction_detail detail;

	if (trace.block == FLOW_OUTSIDE || !detail_of(elimination, at, &detail))
		return false;
	for (size_t i = 0; i < detail.operand_count; i++)
		if (detail.operands[i].kind == OPERAND_MEMORY)
			return sum_step(&trace, at, &detail.operands[i], bytes) && isfinite(*bytes);
	return false;
}
