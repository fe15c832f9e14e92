/*
 * flow_graph.h - the blocks of a procedure and the ways between them
 *
 * Made by code/flow_graph_build.h out of a procedure's instructions. Block 0 is the entry; blocks ascend by address
 * within each part of the procedure, and the part with the entry comes first. Calls end blocks. Padding that nothing
 * runs into (nops, traps) is in no block.
 * Every way out - returns, tail calls, calls that do not return, jumps that could not be followed - is an edge to
 * FLOW_OUTSIDE, and every way in an edge from it, so that at each block what comes in equals what goes out. From
 * outside there is a way to each block, and from each block a way to outside: with FLOW_OUTSIDE as one more node the
 * graph is strongly connected. There may be two edges from one block to one other (a branch to the next instruction).
 * Plain data once it is built: any number of threads may read it.
 */
#ifndef DCPI_CODE_FLOW_GRAPH_H
#define DCPI_CODE_FLOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"

#define FLOW_PARTS_MAX 8 /* that a procedure may consist of */

#define FLOW_OUTSIDE UINT32_MAX /* as an edge's end: the callers and what is called last */

enum flow_edge_kind {
	EDGE_FALL,     /* to the next block: a branch not taken, or none at all; after a call, its return */
	EDGE_TAKEN,    /* a branch or jump to a known place */
	EDGE_TABLE,    /* through a jump table that was read */
	EDGE_UNKNOWN,  /* may be taken: an indirect jump that was not resolved, to a landing pad of the procedure */
	EDGE_ENTRY,    /* from outside: callers, unwinding, longjmp, or nothing that was found */
	EDGE_EXIT,     /* to outside: return, tail call, jump that was not resolved, running off the end */
	EDGE_NORETURN, /* to outside: a call that does not come back, a trap */
	EDGE_ENDLESS,  /* to outside: a loop without an end is left when its process is killed */
	EDGE_KIND_COUNT,
};

struct flow_edge {
	uint32_t from, to; /* blocks, or FLOW_OUTSIDE */
	uint32_t kind;     /* enum flow_edge_kind */
};

struct flow_block {
	uint32_t first;          /* of its instructions */
	uint32_t count;          /* of them, at least 1 */
	uint32_t out, out_count; /* its edges are outs[out .. out + out_count), indexes of edges */
	uint32_t in, in_count;   /* those that come are ins[in .. in + in_count) */
	bool is_cold;            /* in the part the compiler split off */
};

struct flow_graph {
	struct instruction *instructions; /* ascending by address; parts of a split procedure one after the other */
	size_t instruction_count;
	struct flow_block *blocks;
	size_t block_count;
	uint32_t part_blocks[FLOW_PARTS_MAX + 1]; /* part p has the blocks part_blocks[p] to part_blocks[p + 1] - 1 */
	size_t part_count;
	struct flow_edge *edges;
	size_t edge_count;
	uint32_t *outs, *ins;
	bool is_complete; /* every indirect jump was resolved and every byte that runs was decoded */

	/* indirect jumps: through tables that were read, tail calls through pointers, and the others */
	uint32_t table_jumps, pointer_jumps, unresolved_jumps;
};

void flow_graph_free(struct flow_graph *graph); /* NULL is allowed */

/* The block that holds ELF address `address`, FLOW_OUTSIDE when none does. Time grows with the logarithm of blocks. */
uint32_t flow_graph_block_at(const struct flow_graph *graph, uint64_t address);

/* What is wrong with a graph, by all that is said above, in a sentence (literal); NULL when nothing is. For tests.
 */
const char *flow_graph_fault(const struct flow_graph *graph);

#endif
