/*
 * cycle_equivalence.h - which blocks and edges of a flow graph run equally often
 *
 * Two blocks or edges are cycle equivalent, in one class, if every cycle through one goes through the other, in the
 * graph with FLOW_OUTSIDE as a node. Flow is conserved, so their frequencies are equal whatever the program does
 * (DCPI 6.1.2; Johnson, Pearson and Pingali, "The Program Structure Tree", PLDI'94, 3). Time and memory are linear.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_CYCLE_EQUIVALENCE_H
#define DCPI_CODE_CYCLE_EQUIVALENCE_H

#include "code/flow_graph.h"

struct cycle_equivalence {
	uint32_t *block_classes; /* of each block */
	uint32_t *edge_classes;  /* of each edge; with the numbers of block_classes */
	size_t class_count;      /* numbered from 0, in the order of the first block, then the first edge, of each */
};

/*
 * 0, -ENOMEM, -E2BIG past 2^29 edges. Free the result with cycle_equivalence_fini(). Any graph is allowed: where flow
 * is not conserved (a block without a way in or out), a block or edge that is on no cycle is a class of its own.
 */
int cycle_equivalence_find(const struct flow_graph *graph, struct cycle_equivalence *equivalence);
void cycle_equivalence_fini(struct cycle_equivalence *equivalence);

#endif
