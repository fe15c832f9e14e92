/*
 * flow_graph.h - the blocks of a procedure and the ways between them
 *
 * Made by code/flow_graph_build.h out of a procedure's instructions. Blocks ascend by address; block 0 is the entry.
 * Every way out - returns, tail calls, calls that do not return, jumps that could not be followed - is an edge to
 * FLOW_OUTSIDE, and every way in an edge from it, so that at each block what comes in equals what goes out.
 * Plain data once it is built: any number of threads may read it.
 */
#ifndef DCPI_CODE_FLOW_GRAPH_H
#define DCPI_CODE_FLOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"

#define FLOW_OUTSIDE UINT32_MAX /* as an edge's end: the callers and what is called last */

enum flow_edge_kind {
	EDGE_FALL,     /* to the next block: a branch not taken, or none at all; after a call, its return */
	EDGE_TAKEN,    /* a branch or jump to a known place */
	EDGE_TABLE,    /* through a jump table that was read */
	EDGE_UNKNOWN,  /* may be taken: an indirect jump that was not resolved, to a landing pad of the procedure */
	EDGE_ENTRY,    /* from outside */
	EDGE_EXIT,     /* to outside: return or tail call */
	EDGE_NORETURN, /* to outside: a call that does not come back, a trap */
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
	struct flow_edge *edges;
	size_t edge_count;
	uint32_t *outs, *ins;
	bool is_complete; /* every indirect jump was resolved and every byte decoded */
};

#endif
