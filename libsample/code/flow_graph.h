/*
 * flow_graph.h - the basic blocks of a procedure and the edges between them
 *
 * Built out of a procedure's instructions. Block 0 is the entry; blocks ascend by address within each part of the
 * procedure, and the part with the entry comes first. Calls end blocks. Padding that control does not reach (nops,
 * traps) is in no block.
 * Where control leaves - returns, tail calls, calls that do not return, jumps that could not be resolved - there is an
 * edge to FLOW_OUTSIDE, and where it enters an edge from FLOW_OUTSIDE, so that flow is conserved at each block. Each
 * block is reached from outside and reaches it: with FLOW_OUTSIDE as one more node the graph is strongly connected.
 * There may be two edges from one block to one other (a branch to the next instruction). Once built it is not written:
 * any number of threads may read it.
 */
#ifndef DCPI_CODE_FLOW_GRAPH_H
#define DCPI_CODE_FLOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"
#include "code/instruction.h"

#define FLOW_PARTS_MAX 8 /* that a procedure may consist of */

#define FLOW_OUTSIDE UINT32_MAX /* as an edge's end: whatever is outside the procedure */

/* A contiguous piece of a procedure. */
struct code_part {
	uint64_t address; /* ELF virtual address */
	const uint8_t *bytes;
	size_t size; /* bytes, at least 1 */
	bool is_cold;
};

static inline bool
code_parts_overlap(const struct code_part *part, const struct code_part *other)
{
	return part->address < other->address + other->size && other->address < part->address + part->size;
}

/* Supplies what the text alone does not show. */
struct flow_source {
	enum architecture architecture;
	const struct code_part *parts; /* the one that begins with the entry first; disjoint */
	size_t part_count;             /* 1 to FLOW_PARTS_MAX */
	void *argument;                /* of what follows */

	/*
	 * The image's data from ELF address `address` on, as far as it is constant and lies in one section: sets
	 * *size (bytes). NULL when there is none. For jump tables; the function may be NULL: there are no data.
	 */
	const uint8_t *(*data)(void *argument, uint64_t address, size_t *size);

	/*
	 * Whether a call of `address` comes back: a procedure, a stub of the PLT, or the slot of the GOT that an
	 * indirect call or jump goes through. code/procedures.h knows by name. The function may be NULL: all come back.
	 */
	bool (*returns)(void *argument, uint64_t address);
};

enum flow_edge_kind {
	EDGE_FALL,     /* to the next block: a branch not taken, or none at all; after a call, its return */
	EDGE_TAKEN,    /* a branch or jump to a known target */
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

/*
 * Build the graph of a procedure. Never fails for what the text says: random bytes have a flow graph, too. Time and
 * memory grow linearly with the text. One thread per decoder and source. 0 with *graph set (flow_graph_free() it),
 * -ENOMEM, -EINVAL for parts that are not as said above, -E2BIG past 2^28 bytes.
 */
int flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph);

/* Append the instructions of the parts, 2^28 bytes of them at most, to `list`. 0, -E2BIG, -ENOMEM. */
int flow_parts_decode(struct decoder *decoder, const struct code_part *parts, size_t count,
                      struct instruction_list *list);

/*
 * Build the graph of instructions that were decoded already, part by part. `list` is taken over and emptied, also on
 * failure. With a NULL `decoder` operands are not looked at: jump tables are not read and indirect jumps stay
 * unresolved. Errors as flow_graph_build().
 */
int flow_graph_build_from(struct instruction_list *list, struct decoder *decoder, const struct flow_source *source,
                          struct flow_graph **graph);

void flow_graph_free(struct flow_graph *graph); /* NULL is allowed */

/* The block that holds ELF address `address`, FLOW_OUTSIDE when none does. Time grows with the logarithm of blocks. */
uint32_t flow_graph_block_at(const struct flow_graph *graph, uint64_t address);

/*
 * Loops: the strongly connected components of the graph without FLOW_OUTSIDE. components[b] becomes the number, below
 * that of blocks, of the one that block b is in. Time is linear. 0 or -ENOMEM.
 */
int flow_graph_components(const struct flow_graph *graph, uint32_t *components);

#endif
