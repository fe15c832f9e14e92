/*
 * undirected.h - a flow graph without directions, and a depth-first tree of it (private to this room)
 *
 * Node 0 is FLOW_OUTSIDE; block b begins at node 2b + 1 and ends at node 2b + 2. Edge e is the flow graph's edge e, or
 * block e - edge_count of the flow graph. In the tree every other edge goes from a node to one above it.
 */
#ifndef DCPI_CODE_UNDIRECTED_H
#define DCPI_CODE_UNDIRECTED_H

#include "code/flow_graph.h"

#define UNDIRECTED_NONE UINT32_MAX

struct undirected {
	uint32_t node_count, edge_count;
	uint32_t (*ends)[2];    /* nodes, of each edge */
	uint32_t *firsts;       /* the edges of node n are incident[firsts[n]] to incident[firsts[n + 1] - 1] */
	uint32_t *incident;     /* edges; those from a node to itself are left out */
	uint32_t *numbers;      /* of each node: in the order in which the tree's walk came to them */
	uint32_t *order;        /* nodes by their number */
	uint32_t *parent_edges; /* of each node: the edge up the tree, UNDIRECTED_NONE at roots */
};

/* 0, -ENOMEM, -E2BIG. */
int undirected_init(struct undirected *undirected, const struct flow_graph *graph);
void undirected_fini(struct undirected *undirected);

static inline uint32_t
undirected_other(const struct undirected *undirected, uint32_t edge, uint32_t node)
{
	return undirected->ends[edge][undirected->ends[edge][0] == node];
}

#endif
