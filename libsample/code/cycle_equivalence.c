#include "code/cycle_equivalence.h"

#include <errno.h>
#include <stdlib.h>

#include "base/workspace.h"

#define NONE UINT32_MAX

/*
 * A flow graph without directions, and a depth-first tree of it. Node 0 is FLOW_OUTSIDE; block b begins at node 2b + 1
 * and ends at node 2b + 2. Edge e is the flow graph's edge e, or block e - edge_count of the flow graph. Every edge
 * that is not in the tree goes from a node to one above it.
 */
struct undirected_graph {
	uint32_t node_count, edge_count;
	uint32_t (*ends)[2];    /* nodes, of each edge */
	uint32_t *firsts;       /* the edges of node n are incident[firsts[n]] to incident[firsts[n + 1] - 1] */
	uint32_t *incident;     /* edges; those from a node to itself are left out */
	uint32_t *numbers;      /* of each node: in the order in which the tree's walk came to them */
	uint32_t *order;        /* nodes by their number */
	uint32_t *parent_edges; /* of each node: the edge up the tree, NONE at roots */
};

static uint32_t
other_end(const struct undirected_graph *graph, uint32_t edge, uint32_t node)
{
	return graph->ends[edge][graph->ends[edge][0] == node];
}

static void
ends_fill(struct undirected_graph *graph, const struct flow_graph *flow)
{
	uint32_t edge = 0;

	for (; edge < flow->edge_count; edge++) {
		const uint32_t from = flow->edges[edge].from, to = flow->edges[edge].to;

		graph->ends[edge][0] = from == FLOW_OUTSIDE ? 0 : 2 * from + 2;
		graph->ends[edge][1] = to == FLOW_OUTSIDE ? 0 : 2 * to + 1;
	}
	for (uint32_t block = 0; block < flow->block_count; block++, edge++) {
		graph->ends[edge][0] = 2 * block + 1;
		graph->ends[edge][1] = 2 * block + 2;
	}
}

/* firsts[n] first counts the edges of node n, then says where they end, and is moved back to where they begin. */
static void
incident_fill(struct undirected_graph *graph)
{
	uint32_t *firsts = graph->firsts, sum = 0;

	for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
		if (graph->ends[edge][0] == graph->ends[edge][1])
			continue;
		firsts[graph->ends[edge][0]]++;
		firsts[graph->ends[edge][1]]++;
	}
	for (uint32_t node = 0; node < graph->node_count; node++) {
		sum += firsts[node];
		firsts[node] = sum;
	}
	firsts[graph->node_count] = sum;
	for (uint32_t edge = graph->edge_count; edge-- > 0;) {
		if (graph->ends[edge][0] == graph->ends[edge][1])
			continue;
		graph->incident[--firsts[graph->ends[edge][0]]] = edge;
		graph->incident[--firsts[graph->ends[edge][1]]] = edge;
	}
}

/* `nexts`: which of its edges each node follows next. */
static void
tree_grow(struct undirected_graph *graph, uint32_t root, uint32_t *nexts, uint32_t *number)
{
	uint32_t node = root;

	graph->parent_edges[root] = NONE;
	graph->order[*number] = root;
	graph->numbers[root] = (*number)++;
	for (;;) {
		uint32_t edge, next;

		if (nexts[node] == graph->firsts[node + 1]) {
			if (node == root)
				return;
			node = other_end(graph, graph->parent_edges[node], node);
			continue;
		}
		edge = graph->incident[nexts[node]++];
		next = other_end(graph, edge, node);
		if (graph->numbers[next] != NONE)
			continue;
		graph->parent_edges[next] = edge;
		graph->order[*number] = next;
		graph->numbers[next] = (*number)++;
		node = next;
	}
}

/* `nexts`: one for each node. */
static void
forest_grow(struct undirected_graph *graph, uint32_t *nexts)
{
	uint32_t number = 0;

	for (uint32_t node = 0; node < graph->node_count; node++) {
		nexts[node] = graph->firsts[node];
		graph->numbers[node] = NONE;
	}
	for (uint32_t node = 0; node < graph->node_count; node++) {
		if (graph->numbers[node] == NONE)
			tree_grow(graph, node, nexts, &number);
	}
}

/* 0, -ENOMEM, -E2BIG. */
static int
undirected_init(struct undirected_graph *graph, const struct flow_graph *flow, struct workspace *space)
{
	uint32_t nodes, edges, *nexts;

	*graph = (struct undirected_graph){0};
	if (flow->block_count > UINT32_MAX / 8 || flow->edge_count > UINT32_MAX / 8)
		return -E2BIG;
	nodes = graph->node_count = 2 * (uint32_t)flow->block_count + 1;
	edges = graph->edge_count = (uint32_t)(flow->edge_count + flow->block_count);
	graph->ends = workspace_array(space, edges, sizeof(*graph->ends));
	graph->firsts = workspace_array(space, nodes + 1, sizeof(*graph->firsts));
	graph->incident = workspace_array(space, 2 * edges, sizeof(*graph->incident));
	graph->numbers = workspace_array(space, nodes, sizeof(*graph->numbers));
	graph->order = workspace_array(space, nodes, sizeof(*graph->order));
	graph->parent_edges = workspace_array(space, nodes, sizeof(*graph->parent_edges));
	nexts = workspace_array(space, nodes, sizeof(*nexts));
	if (space->has_failed)
		return -ENOMEM;
	ends_fill(graph, flow);
	incident_fill(graph);
	forest_grow(graph, nexts);
	return 0;
}

/*
 * The edges beside a depth-first tree are the "brackets" of the tree's edges that they span. Two edges of the tree are
 * equivalent when their sets of brackets are equal, and an edge of the tree is equivalent to its bracket when it has
 * no other. A set is a list; its newest bracket and its size identify it, in constant time. Where the lists of several
 * subtrees are joined, a capping bracket - without an edge - keeps different sets from looking equal (figure 4 of the
 * paper).
 */
struct bracket {
	uint32_t newer, older; /* in its list */
	uint32_t recent_size;  /* of the set when this was its newest */
	uint32_t recent_class; /* of the edges that had that set */
};

struct bracket_list {
	uint32_t newest, oldest, size;
};

struct equivalence_search {
	struct workspace space; /* of all arrays */
	struct undirected_graph graph;
	uint32_t *classes; /* of each edge */
	uint32_t class_count;
	struct bracket *brackets;   /* of each edge, then the capping one of each node */
	struct bracket_list *lists; /* of each node */
	uint32_t *highs;            /* of each node: the lowest number that brackets of its subtree reach, or NONE */
	uint32_t *cappings;         /* of each node: the first node whose capping bracket ends there */
	uint32_t *next_cappings;    /* of each node with a capping bracket: the next that ends where its own does */
};

/* What a node's brackets and children reach. */
struct bracket_reach {
	uint32_t own;    /* its own brackets */
	uint32_t first;  /* the child that reaches highest */
	uint32_t second; /* the best of the other children */
};

static int
search_init(struct equivalence_search *search, const struct flow_graph *graph)
{
	struct workspace *space = &search->space;
	uint32_t nodes, edges;
	int err;

	*search = (struct equivalence_search){0};
	err = undirected_init(&search->graph, graph, space);
	if (err)
		return err;
	nodes = search->graph.node_count;
	edges = search->graph.edge_count;
	search->classes = workspace_array(space, edges, sizeof(*search->classes));
	search->brackets = workspace_array(space, (size_t)edges + nodes, sizeof(*search->brackets));
	search->lists = workspace_array(space, nodes, sizeof(*search->lists));
	search->highs = workspace_array(space, nodes, sizeof(*search->highs));
	search->cappings = workspace_array(space, nodes, sizeof(*search->cappings));
	search->next_cappings = workspace_array(space, nodes, sizeof(*search->next_cappings));
	if (space->has_failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < edges; i++)
		search->classes[i] = NONE;
	for (uint32_t i = 0; i < nodes; i++) {
		search->lists[i] = (struct bracket_list){NONE, NONE, 0};
		search->cappings[i] = NONE;
	}
	return 0;
}

static void
bracket_push(struct equivalence_search *search, struct bracket_list *list, uint32_t bracket)
{
	search->brackets[bracket].newer = NONE;
	search->brackets[bracket].older = list->newest;
	if (list->newest != NONE)
		search->brackets[list->newest].newer = bracket;
	else
		list->oldest = bracket;
	list->newest = bracket;
	list->size++;
}

static void
bracket_remove(struct equivalence_search *search, struct bracket_list *list, uint32_t bracket)
{
	const struct bracket *removed = &search->brackets[bracket];

	if (removed->newer != NONE)
		search->brackets[removed->newer].older = removed->older;
	else
		list->newest = removed->older;
	if (removed->older != NONE)
		search->brackets[removed->older].newer = removed->newer;
	else
		list->oldest = removed->newer;
	list->size--;
}

/* Put what `upper` has on top of `list`. */
static void
bracket_list_join(struct equivalence_search *search, struct bracket_list *list, const struct bracket_list *upper)
{
	if (!upper->size)
		return;
	if (list->newest != NONE)
		search->brackets[list->newest].newer = upper->oldest;
	else
		list->oldest = upper->oldest;
	search->brackets[upper->oldest].older = list->newest;
	list->newest = upper->newest;
	list->size += upper->size;
}

/* Join the children's lists, and see how far up they reach. */
static struct bracket_reach
children_join(struct equivalence_search *search, uint32_t node)
{
	const struct undirected_graph *graph = &search->graph;
	struct bracket_reach reach = {NONE, NONE, NONE};

	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = other_end(graph, edge, node);
		uint32_t high = search->highs[other];

		if (edge == graph->parent_edges[node])
			continue;
		if (graph->numbers[other] < graph->numbers[node]) {
			if (graph->numbers[other] < reach.own)
				reach.own = graph->numbers[other];
		} else if (edge == graph->parent_edges[other]) {
			bracket_list_join(search, &search->lists[node], &search->lists[other]);
			if (high < reach.first) {
				reach.second = reach.first;
				reach.first = high;
			} else if (high < reach.second) {
				reach.second = high;
			}
		}
	}
	return reach;
}

/* Remove the brackets that end at `node`, add those that begin there. */
static void
brackets_change(struct equivalence_search *search, uint32_t node)
{
	const struct undirected_graph *graph = &search->graph;
	struct bracket_list *list = &search->lists[node];

	for (uint32_t from = search->cappings[node]; from != NONE; from = search->next_cappings[from])
		bracket_remove(search, list, graph->edge_count + from);
	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = other_end(graph, edge, node);

		if (graph->numbers[other] < graph->numbers[node] || edge == graph->parent_edges[other])
			continue;
		bracket_remove(search, list, edge);
		if (search->classes[edge] == NONE)
			search->classes[edge] = search->class_count++;
	}
	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = other_end(graph, edge, node);

		if (graph->numbers[other] < graph->numbers[node] && edge != graph->parent_edges[node])
			bracket_push(search, list, edge);
	}
}

static void
capping_bracket_add(struct equivalence_search *search, uint32_t node, uint32_t number)
{
	uint32_t end = search->graph.order[number];

	bracket_push(search, &search->lists[node], search->graph.edge_count + node);
	search->next_cappings[node] = search->cappings[end];
	search->cappings[end] = node;
}

/* The class of the edge from `node` up the tree. */
static void
tree_edge_class(struct equivalence_search *search, uint32_t node)
{
	const struct bracket_list *list = &search->lists[node];
	uint32_t edge = search->graph.parent_edges[node];
	struct bracket *newest;

	if (edge == NONE)
		return;
	if (!list->size) {
		search->classes[edge] = search->class_count++; /* no cycle goes through it */
		return;
	}
	newest = &search->brackets[list->newest];
	if (newest->recent_size != list->size) {
		newest->recent_size = list->size;
		newest->recent_class = search->class_count++;
	}
	search->classes[edge] = newest->recent_class;
	if (list->size == 1 && list->newest < search->graph.edge_count)
		search->classes[list->newest] = search->classes[edge];
}

static void
search_run(struct equivalence_search *search)
{
	const struct undirected_graph *graph = &search->graph;

	for (uint32_t number = graph->node_count; number-- > 0;) {
		uint32_t node = graph->order[number];
		struct bracket_reach reach = children_join(search, node);

		search->highs[node] = reach.own < reach.first ? reach.own : reach.first;
		brackets_change(search, node);
		if (reach.second < reach.own && reach.second < number)
			capping_bracket_add(search, node, reach.second);
		tree_edge_class(search, node);
	}
}

static uint32_t
class_renumber(uint32_t *numbers, uint32_t class, size_t *count)
{
	if (numbers[class] == NONE)
		numbers[class] = (uint32_t)(*count)++;
	return numbers[class];
}

/* Number the classes in the order of the first block, then the first edge, of each. An edge from outside to outside is
 * a class of its own. */
static int
classes_number(const struct equivalence_search *search, const struct flow_graph *graph,
               struct cycle_equivalence *equivalence)
{
	uint32_t *numbers = calloc((size_t)search->class_count + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < search->class_count; i++)
		numbers[i] = NONE;
	for (size_t i = 0; i < graph->block_count; i++)
		equivalence->block_classes[i] =
			class_renumber(numbers, search->classes[graph->edge_count + i], &equivalence->class_count);
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t class = search->classes[i];

		equivalence->edge_classes[i] = class == NONE
		                                       ? (uint32_t)equivalence->class_count++
		                                       : class_renumber(numbers, class, &equivalence->class_count);
	}
	free(numbers);
	return 0;
}

void
cycle_equivalence_fini(struct cycle_equivalence *equivalence)
{
	free(equivalence->block_classes);
	free(equivalence->edge_classes);
	*equivalence = (struct cycle_equivalence){0};
}

int
cycle_equivalence_find(const struct flow_graph *graph, struct cycle_equivalence *equivalence)
{
	struct equivalence_search search;
	int err;

	*equivalence = (struct cycle_equivalence){0};
	err = search_init(&search, graph);
	if (err)
		goto out;
	search_run(&search);
	equivalence->block_classes = calloc(graph->block_count + 1, sizeof(*equivalence->block_classes));
	equivalence->edge_classes = calloc(graph->edge_count + 1, sizeof(*equivalence->edge_classes));
	err = -ENOMEM;
	if (equivalence->block_classes && equivalence->edge_classes)
		err = classes_number(&search, graph, equivalence);
	if (err)
		cycle_equivalence_fini(equivalence);
out:
	workspace_free(&search.space);
	return err;
}
