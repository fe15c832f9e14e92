#include "code/undirected.h"

#include <errno.h>
#include <stdlib.h>

static void
ends_fill(struct undirected *undirected, const struct flow_graph *graph)
{
	uint32_t edge = 0;

	for (; edge < graph->edge_count; edge++) {
		const struct flow_edge *flow = &graph->edges[edge];

		undirected->ends[edge][0] = flow->from == FLOW_OUTSIDE ? 0 : 2 * flow->from + 2;
		undirected->ends[edge][1] = flow->to == FLOW_OUTSIDE ? 0 : 2 * flow->to + 1;
	}
	for (uint32_t block = 0; block < graph->block_count; block++, edge++) {
		undirected->ends[edge][0] = 2 * block + 1;
		undirected->ends[edge][1] = 2 * block + 2;
	}
}

/* First `firsts` counts, one place ahead; then it says where each node's edges end, and is moved back to where they
 * begin. */
static void
incident_fill(struct undirected *undirected)
{
	uint32_t *firsts = undirected->firsts, sum = 0;

	for (uint32_t edge = 0; edge < undirected->edge_count; edge++) {
		if (undirected->ends[edge][0] == undirected->ends[edge][1])
			continue;
		firsts[undirected->ends[edge][0]]++;
		firsts[undirected->ends[edge][1]]++;
	}
	for (uint32_t node = 0; node < undirected->node_count; node++) {
		sum += firsts[node];
		firsts[node] = sum;
	}
	firsts[undirected->node_count] = sum;
	for (uint32_t edge = undirected->edge_count; edge-- > 0;) {
		if (undirected->ends[edge][0] == undirected->ends[edge][1])
			continue;
		undirected->incident[--firsts[undirected->ends[edge][0]]] = edge;
		undirected->incident[--firsts[undirected->ends[edge][1]]] = edge;
	}
}

/* `nexts`: which of its edges each node follows next. */
static void
tree_grow(struct undirected *undirected, uint32_t root, uint32_t *nexts, uint32_t *number)
{
	uint32_t node = root;

	undirected->parent_edges[root] = UNDIRECTED_NONE;
	undirected->order[*number] = root;
	undirected->numbers[root] = (*number)++;
	for (;;) {
		uint32_t edge, next;

		if (nexts[node] == undirected->firsts[node + 1]) {
			if (node == root)
				return;
			node = undirected_other(undirected, undirected->parent_edges[node], node);
			continue;
		}
		edge = undirected->incident[nexts[node]++];
		next = undirected_other(undirected, edge, node);
		if (undirected->numbers[next] != UNDIRECTED_NONE)
			continue;
		undirected->parent_edges[next] = edge;
		undirected->order[*number] = next;
		undirected->numbers[next] = (*number)++;
		node = next;
	}
}

static int
forest_grow(struct undirected *undirected)
{
	uint32_t *nexts = calloc(undirected->node_count, sizeof(*nexts));
	uint32_t number = 0;

	if (!nexts)
		return -ENOMEM;
	for (uint32_t node = 0; node < undirected->node_count; node++) {
		nexts[node] = undirected->firsts[node];
		undirected->numbers[node] = UNDIRECTED_NONE;
	}
	for (uint32_t node = 0; node < undirected->node_count; node++) {
		if (undirected->numbers[node] == UNDIRECTED_NONE)
			tree_grow(undirected, node, nexts, &number);
	}
	free(nexts);
	return 0;
}

int
undirected_init(struct undirected *undirected, const struct flow_graph *graph)
{
	uint32_t nodes, edges;
	int err;

	*undirected = (struct undirected){0};
	if (graph->block_count > UINT32_MAX / 8 || graph->edge_count > UINT32_MAX / 8)
		return -E2BIG;
	nodes = undirected->node_count = 2 * (uint32_t)graph->block_count + 1;
	edges = undirected->edge_count = (uint32_t)(graph->edge_count + graph->block_count);
	undirected->ends = calloc(edges + 1, sizeof(*undirected->ends));
	undirected->firsts = calloc(nodes + 1, sizeof(*undirected->firsts));
	undirected->incident = calloc(2 * edges + 1, sizeof(*undirected->incident));
	undirected->numbers = calloc(nodes, sizeof(*undirected->numbers));
	undirected->order = calloc(nodes, sizeof(*undirected->order));
	undirected->parent_edges = calloc(nodes, sizeof(*undirected->parent_edges));
	if (!undirected->ends || !undirected->firsts || !undirected->incident || !undirected->numbers ||
	    !undirected->order || !undirected->parent_edges) {
		undirected_fini(undirected);
		return -ENOMEM;
	}
	ends_fill(undirected, graph);
	incident_fill(undirected);
	err = forest_grow(undirected);
	if (err)
		undirected_fini(undirected);
	return err;
}

void
undirected_fini(struct undirected *undirected)
{
	free(undirected->ends);
	free(undirected->firsts);
	free(undirected->incident);
	free(undirected->numbers);
	free(undirected->order);
	free(undirected->parent_edges);
	*undirected = (struct undirected){0};
}
