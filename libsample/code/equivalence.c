#include "code/equivalence.h"

#include <errno.h>
#include <stdlib.h>

#include "code/undirected.h"

#define NONE UNDIRECTED_NONE

/*
 * The edges beside a depth-first tree are the "brackets" of the tree's edges that they span. Two edges of the tree are
 * equivalent when they have the same set of brackets, and one of the tree is equivalent to one beside it when that is
 * its only bracket. Sets are lists; a list is told by its newest bracket and its size, in constant time. Where lists of
 * several subtrees are joined, a capping bracket - without an edge - keeps apart what would look the same (figure 4 of
 * the paper).
 */
struct bracket {
	uint32_t newer, older; /* in its list */
	uint32_t recent_size;  /* of the set when this was its newest */
	uint32_t recent_class; /* of what had that set */
};

struct bracket_list {
	uint32_t newest, oldest, size;
};

struct search {
	struct undirected graph;
	uint32_t *classes; /* of each edge */
	uint32_t class_count;
	struct bracket *brackets;   /* of each edge, then the capping one of each node */
	struct bracket_list *lists; /* of each node */
	uint32_t *highs;            /* of each node: the lowest number that brackets of its subtree reach, or NONE */
	uint32_t *cappings;         /* of each node: the first node whose capping bracket ends there */
	uint32_t *next_cappings;    /* of each node with a capping bracket: the next that ends where its own does */
};

/* What a node's brackets and children reach. */
struct reach {
	uint32_t own;    /* its own brackets */
	uint32_t first;  /* the child that reaches highest */
	uint32_t second; /* the best of the other children */
};

static void
search_fini(struct search *search)
{
	undirected_fini(&search->graph);
	free(search->classes);
	free(search->brackets);
	free(search->lists);
	free(search->highs);
	free(search->cappings);
	free(search->next_cappings);
}

static int
search_init(struct search *search, const struct flow_graph *graph)
{
	uint32_t nodes, edges;
	int err;

	*search = (struct search){0};
	err = undirected_init(&search->graph, graph);
	if (err)
		return err;
	nodes = search->graph.node_count;
	edges = search->graph.edge_count;
	search->classes = calloc(edges + 1, sizeof(*search->classes));
	search->brackets = calloc((size_t)edges + nodes, sizeof(*search->brackets));
	search->lists = calloc(nodes, sizeof(*search->lists));
	search->highs = calloc(nodes, sizeof(*search->highs));
	search->cappings = calloc(nodes, sizeof(*search->cappings));
	search->next_cappings = calloc(nodes, sizeof(*search->next_cappings));
	if (!search->classes || !search->brackets || !search->lists || !search->highs || !search->cappings ||
	    !search->next_cappings) {
		search_fini(search);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < edges; i++)
		search->classes[i] = NONE;
	for (uint32_t i = 0; i < nodes; i++) {
		search->lists[i] = (struct bracket_list){NONE, NONE, 0};
		search->cappings[i] = NONE;
	}
	return 0;
}

static void
bracket_push(struct search *search, struct bracket_list *list, uint32_t bracket)
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
bracket_remove(struct search *search, struct bracket_list *list, uint32_t bracket)
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
bracket_list_join(struct search *search, struct bracket_list *list, const struct bracket_list *upper)
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
static struct reach
children_join(struct search *search, uint32_t node)
{
	const struct undirected *graph = &search->graph;
	struct reach reach = {NONE, NONE, NONE};

	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = undirected_other(graph, edge, node);
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

/* Brackets that end here go, those that begin here come. */
static void
brackets_change(struct search *search, uint32_t node)
{
	const struct undirected *graph = &search->graph;
	struct bracket_list *list = &search->lists[node];

	for (uint32_t from = search->cappings[node]; from != NONE; from = search->next_cappings[from])
		bracket_remove(search, list, graph->edge_count + from);
	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = undirected_other(graph, edge, node);

		if (graph->numbers[other] < graph->numbers[node] || edge == graph->parent_edges[other])
			continue;
		bracket_remove(search, list, edge);
		if (search->classes[edge] == NONE)
			search->classes[edge] = search->class_count++;
	}
	for (uint32_t i = graph->firsts[node]; i < graph->firsts[node + 1]; i++) {
		uint32_t edge = graph->incident[i], other = undirected_other(graph, edge, node);

		if (graph->numbers[other] < graph->numbers[node] && edge != graph->parent_edges[node])
			bracket_push(search, list, edge);
	}
}

static void
capping_add(struct search *search, uint32_t node, uint32_t number)
{
	uint32_t end = search->graph.order[number];

	bracket_push(search, &search->lists[node], search->graph.edge_count + node);
	search->next_cappings[node] = search->cappings[end];
	search->cappings[end] = node;
}

/* The class of the edge from `node` up the tree. */
static void
tree_edge_class(struct search *search, uint32_t node)
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
search_run(struct search *search)
{
	const struct undirected *graph = &search->graph;

	for (uint32_t number = graph->node_count; number-- > 0;) {
		uint32_t node = graph->order[number];
		struct reach reach = children_join(search, node);

		search->highs[node] = reach.own < reach.first ? reach.own : reach.first;
		brackets_change(search, node);
		if (reach.second < reach.own && reach.second < number)
			capping_add(search, node, reach.second);
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

/* Classes by the first block and edge that has them. An edge from outside to outside is a class of its own. */
static int
classes_number(const struct search *search, const struct flow_graph *graph, struct equivalence *equivalence)
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

int
equivalence_find(const struct flow_graph *graph, struct equivalence *equivalence)
{
	struct search search;
	int err;

	*equivalence = (struct equivalence){0};
	err = search_init(&search, graph);
	if (err)
		return err;
	search_run(&search);
	equivalence->block_classes = calloc(graph->block_count + 1, sizeof(*equivalence->block_classes));
	equivalence->edge_classes = calloc(graph->edge_count + 1, sizeof(*equivalence->edge_classes));
	err = -ENOMEM;
	if (equivalence->block_classes && equivalence->edge_classes)
		err = classes_number(&search, graph, equivalence);
	if (err)
		equivalence_fini(equivalence);
	search_fini(&search);
	return err;
}

void
equivalence_fini(struct equivalence *equivalence)
{
	free(equivalence->block_classes);
	free(equivalence->edge_classes);
	*equivalence = (struct equivalence){0};
}
