#include "dcpi-tools/flame/flame_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/text.h"

/* ---- life ---- */

static struct flame_node *
add_node(struct flame_graph *graph)
{
	return ARRAY_APPEND(graph->nodes, graph->node_count, graph->node_capacity);
}

int
flame_graph_init(struct flame_graph *graph)
{
	struct flame_node *root;

	*graph = (struct flame_graph){0};
	graph->calls = stack_table_new(UINT32_MAX);
	root = add_node(graph);
	if (!root || !graph->calls)
		return -ENOMEM;
	*root = (struct flame_node){0};
	return 0;
}

void
flame_graph_fini(struct flame_graph *graph)
{
	title_table_fini(&graph->titles);
	for (size_t i = 0; i < graph->frame_count; i++) {
		free(graph->frames[i].title);
		free(graph->frames[i].image);
	}
	free(graph->frames);
	free(graph->nodes);
	stack_table_free(graph->calls);
	*graph = (struct flame_graph){0};
}

/* ---- stacks ---- */

/* A shared library has ".so" at the end of its file name, or before a version: "libz.so.1.2". */
static bool
is_library(const char *path)
{
	const char *suffix = strstr(text_basename(path), ".so");

	return suffix && (suffix[3] == '\0' || suffix[3] == '.');
}

static enum flame_origin
origin_of(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_VDSO:
	case IMAGE_JIT:
		return FLAME_KERNEL;
	case IMAGE_ANON:
		return FLAME_RUN_TIME;
	default:
		return is_library(image->path) ? FLAME_LIBRARY : FLAME_PROGRAM;
	}
}

static int
add_frame(struct flame_graph *graph, const struct call_frame *from, const struct selection *selection)
{
	struct flame_frame *added = ARRAY_APPEND(graph->frames, graph->frame_count, graph->frame_capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct flame_frame){
		.title = strdup(from->title),
		.image = from->image_title ? strdup(from->image_title) : NULL,
		.origin = from->image_title ? origin_of(selection->images[from->image].image) : FLAME_TRUNCATED,
	};
	return added->title && (added->image || !from->image_title) ? 0 : -ENOMEM;
}

/* The frame of a procedure of the tree, new or not: the file name identifies an image in two sets. */
static int
find_frame(struct flame_graph *graph, const struct call_frame *from, const struct selection *selection, uint32_t *frame)
{
	const char *file = from->image_title ? text_basename(from->image_title) : "";
	int err = title_table_intern(&graph->titles, from->title, file, frame);

	return err || *frame < graph->frame_count ? err : add_frame(graph, from, selection);
}

/* The child of `parent` that is `frame`, new or not. */
static int
find_child(struct flame_graph *graph, uint32_t parent, uint32_t frame, uint32_t *child)
{
	const struct stack_node call = {.offset = frame, .caller = parent};
	struct flame_node *added;
	int err = stack_table_intern(graph->calls, &call, child);

	if (err || *child < graph->node_count)
		return err;
	added = add_node(graph);
	if (!added)
		return -ENOMEM;
	*added = (struct flame_node){
		.frame = frame,
		.parent = parent,
		.next_sibling = graph->nodes[parent].first_child,
		.depth = graph->nodes[parent].depth + 1,
	};
	graph->nodes[parent].first_child = *child;
	return 0;
}

static struct compare_count
samples_of(const struct call_node *node)
{
	return (struct compare_count){node->total, node->taken, node->squares};
}

/* Callers have smaller numbers than what they call, in both trees. */
static int
add_nodes(struct flame_graph *graph, size_t set, const struct call_tree *tree, const uint32_t *frames, uint32_t *places)
{
	places[0] = 0;
	graph->nodes[0].samples[set] = samples_of(&tree->nodes[0]);
	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct compare_count samples = samples_of(&tree->nodes[i]);

		const int err =
			find_child(graph, places[tree->nodes[i].parent], frames[tree->nodes[i].frame], &places[i]);

		if (err)
			return err;
		compare_count_add(&graph->nodes[places[i]].samples[set], &samples);
	}
	return 0;
}

/* Stacks whose outermost callers are not known: below the root. */
static uint64_t
truncated_samples(const struct call_tree *tree)
{
	uint64_t samples = 0;

	for (uint32_t at = tree->nodes[0].first_child; at; at = tree->nodes[at].next_sibling)
		if (!tree->frames[tree->nodes[at].frame].image_title)
			samples += tree->nodes[at].total;
	return samples;
}

int
flame_graph_add(struct flame_graph *graph, size_t set, const struct call_tree *tree, const struct selection *selection)
{
	uint32_t *frames = calloc(tree->frame_count + 1, sizeof(*frames));
	uint32_t *places = calloc((size_t)tree->node_count + 1, sizeof(*places));
	int err = frames && places ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < tree->frame_count; i++)
		err = find_frame(graph, &tree->frames[i], selection, &frames[i]);
	if (!err)
		err = add_nodes(graph, set, tree, frames, places);
	graph->truncated[set] = truncated_samples(tree);
	if (graph->set_count <= set)
		graph->set_count = set + 1;
	free(frames);
	free(places);
	return err;
}

/* ---- places ---- */

static int
compare_nodes(const void *left, const void *right, void *context)
{
	const struct flame_graph *graph = context;
	const size_t set = graph->set_count - 1;
	const struct flame_node *a = &graph->nodes[*(const uint32_t *)left];
	const struct flame_node *b = &graph->nodes[*(const uint32_t *)right];
	const struct flame_frame *a_frame = &graph->frames[a->frame], *b_frame = &graph->frames[b->frame];
	int order;

	if (a->samples[set].count != b->samples[set].count)
		return a->samples[set].count > b->samples[set].count ? -1 : 1;
	order = strcmp(a_frame->title, b_frame->title);
	return order ? order : strcmp(a_frame->image ? a_frame->image : "", b_frame->image ? b_frame->image : "");
}

/* Children are created after their parents, so a node has its place before its children need it. */
int
flame_graph_place(struct flame_graph *graph, double least)
{
	const size_t set = graph->set_count - 1;
	const double all = (double)graph->nodes[0].samples[set].count;
	uint32_t *children = calloc(graph->node_count, sizeof(*children));

	if (!children)
		return -ENOMEM;
	graph->nodes[0].width = 1;
	graph->nodes[0].is_shown = true;
	for (size_t i = 0; i < graph->node_count; i++) {
		uint32_t *link = &graph->nodes[i].first_child;
		double left = graph->nodes[i].left;
		size_t count = 0;

		for (uint32_t child = *link; child; child = graph->nodes[child].next_sibling)
			children[count++] = child;
		if (count > 0)
			qsort_r(children, count, sizeof(*children), compare_nodes, graph);
		for (size_t k = 0; k < count; k++) {
			struct flame_node *child = &graph->nodes[children[k]];

			*link = children[k];
			link = &child->next_sibling;
			child->left = left;
			child->width = all > 0 ? (double)child->samples[set].count / all : 0;
			child->is_shown = child->samples[set].count > 0 && child->width >= least;
			left += child->width;
			if (child->is_shown && child->depth > graph->depth)
				graph->depth = child->depth;
		}
		*link = 0;
	}
	free(children);
	return 0;
}

int
flame_graph_compare(struct flame_graph *graph, struct compare_scale *scale, double alpha)
{
	struct diff_comparison *comparisons = calloc(graph->node_count, sizeof(*comparisons));
	struct compare_rows rows = {.first = comparisons, .stride = sizeof(*comparisons)};
	size_t marked;
	int err;

	if (!comparisons)
		return -ENOMEM;
	scale->totals[0] = graph->nodes[0].samples[0];
	scale->totals[1] = graph->nodes[0].samples[1];
	for (size_t i = 0; i < graph->node_count; i++)
		if (graph->nodes[i].is_shown)
			compare_make(scale, graph->nodes[i].samples, &comparisons[rows.count++]);
	err = compare_adjust(&rows, alpha, &marked);
	for (size_t i = 0, row = 0; !err && i < graph->node_count; i++)
		if (graph->nodes[i].is_shown)
			graph->nodes[i].comparison = comparisons[row++];
	free(comparisons);
	return err;
}
