/*
 * flow_graph.h - the basic blocks of a procedure and the edges between them
 *
 * The graph is built from a procedure's instructions. Block 0 is the entry; blocks ascend by address within each part
 * of the procedure, and the part with the entry comes first. A call ends its block. Padding that control does not reach
 * (nops, traps) is in no block.
 * Where control leaves the procedure - returns, tail calls, calls that do not return, unresolved jumps - there is an
 * edge to FLOW_OUTSIDE, and where control enters there is an edge from FLOW_OUTSIDE. So flow is conserved at each
 * block. FLOW_OUTSIDE reaches each block, and each block reaches FLOW_OUTSIDE: with it as one more node the graph is
 * strongly connected. Two edges may lead from one block to one other block (a branch to the next instruction). A
 * finished graph is not written: any number of threads may read it.
 */
#ifndef DCPI_CODE_FLOW_GRAPH_H
#define DCPI_CODE_FLOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"
#include "code/instruction.h"

#define FLOW_PARTS_MAX 8 /* that a procedure may consist of */

#define FLOW_OUTSIDE UINT32_MAX /* as an end of an edge: everything outside the procedure */

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

/* The parts of a procedure, and callbacks for facts that its text alone does not show. */
struct flow_source {
	enum architecture architecture;
	const struct code_part *parts; /* the one that begins with the entry first; disjoint */
	size_t part_count;             /* 1 to FLOW_PARTS_MAX */
	void *argument;                /* of the two functions */

	/*
	 * The image's constant data from ELF address `address` to the end of its section: sets *size (bytes). NULL when
	 * there is none. For jump tables; the function may be NULL: there are no data.
	 */
	const uint8_t *(*data)(void *argument, uint64_t address, size_t *size);

	/*
	 * Whether a call of `address` returns. `address` is a procedure, a stub of the PLT, or the GOT slot of an
	 * indirect call or jump; code/procedures.h decides by its name. The function may be NULL: all calls return.
	 */
	bool (*returns)(void *argument, uint64_t address);
};

enum flow_edge_kind {
	EDGE_FALL,     /* to the next block: a branch not taken, or none at all; after a call, its return */
	EDGE_TAKEN,    /* a branch or jump to a known target */
	EDGE_TABLE,    /* through a jump table that was read */
	EDGE_UNKNOWN,  /* possible: from an unresolved indirect jump to a landing pad of the procedure */
	EDGE_ENTRY,    /* from outside: callers, unwinding, longjmp, or from where is not known */
	EDGE_EXIT,     /* to outside: return, tail call, unresolved jump, running off the end */
	EDGE_NORETURN, /* to outside: a call that does not return, a trap */
	EDGE_ENDLESS,  /* to outside: an endless loop is left when its process is killed */
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
	uint32_t in, in_count;   /* incoming edges are ins[in .. in + in_count) */
	bool is_cold;            /* in a part that the compiler split off */
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
 * Build the graph of a procedure. It never fails because of the text: even random bytes have a flow graph. Time and
 * memory grow linearly with the text. One thread per decoder and source. 0 with *graph set (flow_graph_free() it),
 * -ENOMEM, -EINVAL for parts that break the rules of struct flow_source, -E2BIG past 2^28 bytes.
 */
int flow_graph_build(struct decoder *decoder, const struct flow_source *source, struct flow_graph **graph);

/* Append the instructions of the parts, 2^28 bytes of them at most, to `list`. 0, -E2BIG, -ENOMEM. */
int flow_parts_decode(struct decoder *decoder, const struct code_part *parts, size_t count,
                      struct instruction_list *list);

/*
 * Build the graph of instructions that were decoded already, part by part. The graph takes the instructions of `list`
 * and leaves it empty, also on failure. With a NULL `decoder` operands are not known: jump tables are not read, and
 * indirect jumps stay unresolved. Errors of flow_graph_build().
 */
int flow_graph_build_from(struct instruction_list *list, struct decoder *decoder, const struct flow_source *source,
                          struct flow_graph **graph);

void flow_graph_free(struct flow_graph *graph); /* NULL is allowed */

/* The block that holds ELF address `address`, FLOW_OUTSIDE when none does. Time grows with the logarithm of blocks. */
uint32_t flow_graph_block_at(const struct flow_graph *graph, uint64_t address);

/*
 * Loops: the strongly connected components of the graph without FLOW_OUTSIDE. components[b] becomes the number of the
 * component of block b, below block_count. Time is linear. 0 or -ENOMEM.
 */
int flow_graph_components(const struct flow_graph *graph, uint32_t *components);

#endif
