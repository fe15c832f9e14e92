/*
 * flow_edges.h - a graph's edges while they are gathered (private to this room)
 */
#ifndef DCPI_CODE_FLOW_EDGES_H
#define DCPI_CODE_FLOW_EDGES_H

#include "code/flow_graph.h"

struct flow_edges {
	struct flow_graph *graph; /* has edges and edge_count */
	size_t capacity;
};

/* 0 or -ENOMEM. */
int flow_edges_add(struct flow_edges *edges, uint32_t from, uint32_t to, enum flow_edge_kind kind);

/* Fill in outs and ins of the graph, and which of them are whose. 0 or -ENOMEM. */
int flow_edges_index(struct flow_graph *graph);

/*
 * Add what makes the graph strongly connected: ways in to blocks that nothing comes to, and ways out of loops that
 * nothing leaves. Wants an indexed graph, and leaves one. `reached` tells of each block whether there was a way to it
 * before. 0 or -ENOMEM.
 */
int flow_edges_close(struct flow_edges *edges, bool *reached);

#endif
