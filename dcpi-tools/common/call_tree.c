#include "dcpi-tools/common/call_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/title_table.h"

#define NO_FRAME UINT32_MAX

/* A tree while nodes are added. A node of the tree has its number in `table`, as a stack of procedures. */
struct growing_tree {
	struct call_tree *tree;
	size_t capacity; /* of the nodes */
	struct stack_table *table;
};

struct tree_builder {
	const struct call_tree_request *request;
	struct call_tree *tree;
	struct growing_tree growing;
	size_t frame_capacity;
	struct title_table titles; /* of the frames: numbers are their indices */
	uint32_t *places;          /* by node of the selection's stacks: its node of the tree; 0: not yet */
};

/* ---- frames ---- */

/* The frame of this title and image, new or not; takes `title`. */
static int
intern_frame(struct tree_builder *builder, char *title, uint32_t image, uint32_t *frame)
{
	const char *image_title = image == STACK_NO_IMAGE ? NULL : builder->request->image_titles[image];
	struct call_tree *tree = builder->tree;
	struct call_frame *added;
	int err = title_table_intern(&builder->titles, title, image_title ? image_title : "", frame);

	if (err || *frame < tree->frame_count) {
		free(title);
		return err;
	}
	added = ARRAY_APPEND(tree->frames, tree->frame_count, builder->frame_capacity);
	if (!added) {
		free(title);
		return -ENOMEM;
	}
	*added = (struct call_frame){
		.title = title, .image_title = image_title, .image = image == STACK_NO_IMAGE ? 0 : image};
	return 0;
}

/* How a stack ended. */
static int
find_end(struct tree_builder *builder, const struct stack_node *node, uint32_t *frame)
{
	const enum stack_end end = node->offset < STACK_END_COUNT ? (enum stack_end)node->offset : STACK_END_COUNT;
	char *title;
	int err;

	if (asprintf(&title, "[truncated: %s]", stack_end_name(end)) < 0)
		return -ENOMEM;
	err = intern_frame(builder, title, STACK_NO_IMAGE, frame);
	if (!err)
		builder->tree->frames[*frame].end = end;
	return err;
}

static int
find_frame(struct tree_builder *builder, const struct procedure *procedure, uint32_t image, uint32_t *frame)
{
	const struct call_tree_request *request = builder->request;
	char *title = procedure_title(procedure, request->selection->images[image].image, request->demangle);

	return title ? intern_frame(builder, title, image, frame) : -ENOMEM;
}

/* ---- the tree ---- */

static int
begin_tree(struct growing_tree *growing, struct call_tree *tree)
{
	*growing = (struct growing_tree){.tree = tree, .table = stack_table_new(UINT32_MAX)};
	tree->nodes = array_grow(NULL, &growing->capacity, 1, sizeof(*tree->nodes));
	if (!growing->table || !tree->nodes)
		return -ENOMEM;
	tree->nodes[0] = (struct call_node){.frame = NO_FRAME};
	tree->node_count = 1;
	return 0;
}

/* The child of `parent` that is `frame`, new or not. */
static int
find_child(struct growing_tree *growing, uint32_t parent, uint32_t frame, uint32_t *child)
{
	const struct stack_node call = {.offset = frame, .caller = parent};
	struct call_tree *tree = growing->tree;
	struct call_node *added;
	int err = stack_table_intern(growing->table, &call, child);

	if (err || *child < tree->node_count)
		return err;
	added = array_grow(tree->nodes, &growing->capacity, (size_t)tree->node_count + 1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	tree->nodes = added;
	added[*child] = (struct call_node){.frame = frame, .parent = parent, .next_sibling = added[parent].first_child};
	added[parent].first_child = *child;
	tree->node_count++;
	return 0;
}

/* The place of a node's procedure below `place`, and below that what was inlined there, the outermost first. */
static int
descend(struct tree_builder *builder, const struct stack_node *node, uint32_t *place)
{
	const struct call_tree_request *request = builder->request;
	const struct selection_image *image;
	const char *const *names = NULL;
	struct procedure procedure;
	size_t count = 0;
	uint32_t frame;
	int err;

	if (node->image == STACK_NO_IMAGE) {
		err = find_end(builder, node, &frame);
		return err ? err : find_child(&builder->growing, *place, frame, place);
	}
	image = &request->selection->images[node->image];
	err = symbolizer_find(request->symbolizer, image, node->offset, &procedure);
	if (!err && !request->no_inline)
		err = symbolizer_find_inlined(request->symbolizer, image, node->offset, &names, &count);
	while (!err) {
		err = find_frame(builder, &procedure, node->image, &frame);
		if (!err)
			err = find_child(&builder->growing, *place, frame, place);
		if (count == 0)
			break;
		procedure = (struct procedure){.kind = PROCEDURE_NAMED, .name = names[--count]};
	}
	return err;
}

/* The tree's node of a node of the selection, whose callers get theirs first. */
static int
find_place(struct tree_builder *builder, uint32_t index, uint32_t *place)
{
	const struct stack_nodes *stacks = &builder->request->selection->stacks;

	while (!builder->places[index]) {
		uint32_t outer = index; /* the outermost that has no place yet */
		const struct stack_node *node;
		uint32_t parent;
		int err;

		while (stacks->nodes[outer].caller && !builder->places[stacks->nodes[outer].caller])
			outer = stacks->nodes[outer].caller;
		node = &stacks->nodes[outer];
		parent = node->caller ? builder->places[node->caller] : 0;
		err = descend(builder, node, &parent);
		if (err)
			return err;
		builder->places[outer] = parent;
	}
	*place = builder->places[index];
	return 0;
}

static void
add(uint64_t *sum, uint64_t samples)
{
	*sum = samples <= UINT64_MAX - *sum ? *sum + samples : UINT64_MAX;
}

static void
add_total(struct call_node *node, const struct selection_count *count)
{
	add(&node->total, count->count);
	add(&node->taken, count->taken);
	node->squares += count->squares;
}

/* A sample counts once for a procedure that is several times in its stack. */
static void
add_samples(struct call_tree *tree, uint32_t place, const struct selection_count *count, uint32_t *seen, uint32_t mark)
{
	const uint64_t samples = count->count;

	add(&tree->nodes[place].own, samples);
	add(&tree->frames[tree->nodes[place].frame].own, samples);
	for (uint32_t at = place; at; at = tree->nodes[at].parent) {
		const uint32_t frame = tree->nodes[at].frame;

		add_total(&tree->nodes[at], count);
		if (seen[frame] != mark)
			add(&tree->frames[frame].inclusive, samples);
		seen[frame] = mark;
	}
	add_total(&tree->nodes[0], count);
	add(&tree->samples, samples);
}

/* ---- order ---- */

static int
compare_nodes(const void *left, const void *right, void *context)
{
	const struct call_tree *tree = context;
	const struct call_node *a = &tree->nodes[*(const uint32_t *)left];
	const struct call_node *b = &tree->nodes[*(const uint32_t *)right];

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(tree->frames[a->frame].title, tree->frames[b->frame].title);
}

/* Children are created after their parents, so each node's siblings are sorted once. `children` has room for all. */
static void
sort_siblings(struct call_tree *tree, uint32_t *children)
{
	for (uint32_t i = 0; i < tree->node_count; i++) {
		uint32_t *link = &tree->nodes[i].first_child;
		size_t count = 0;

		for (uint32_t child = *link; child; child = tree->nodes[child].next_sibling)
			children[count++] = child;
		if (count > 0)
			qsort_r(children, count, sizeof(*children), compare_nodes, tree);
		for (size_t k = 0; k < count; k++) {
			*link = children[k];
			link = &tree->nodes[children[k]].next_sibling;
		}
		*link = 0;
	}
}

static int
order_tree(struct call_tree *tree)
{
	uint32_t *children = calloc(tree->node_count, sizeof(*children));

	if (!children)
		return -ENOMEM;
	sort_siblings(tree, children);
	free(children);
	return 0;
}

/* Begin a tree of the frames of another. */
static int
begin_tree_of(const struct call_tree *from, struct growing_tree *growing, struct call_tree *tree)
{
	*tree = (struct call_tree){.frames = from->frames, .frame_count = from->frame_count, .borrows_frames = true};
	return begin_tree(growing, tree);
}

/* Nothing more is added; after the error `err`, the tree is freed. */
static int
end_tree(struct growing_tree *growing, int err)
{
	struct call_tree *tree = growing->tree;

	stack_table_free(growing->table);
	if (!err)
		err = order_tree(tree);
	if (err)
		call_tree_fini(tree);
	else
		tree->nodes[0].total = tree->samples;
	return err;
}

/* ---- both ways ---- */

static bool
is_wanted(const struct call_tree_request *request, const struct selection_count *count)
{
	const uint32_t image = request->selection->stacks.nodes[count->offset].image;

	/* the innermost frame has no image where salvage has lost its node */
	return count->event == request->event &&
	       (!request->wanted || (image != STACK_NO_IMAGE && request->wanted[image]));
}

static int
add_counts(struct tree_builder *builder)
{
	const struct selection *selection = builder->request->selection;
	struct call_tree *tree = builder->tree;
	uint32_t *seen = NULL;
	int err = 0;

	/* all places first: then the number of frames is known */
	for (size_t i = 0; !err && i < selection->count_count; i++) {
		uint32_t place;

		if (is_wanted(builder->request, &selection->counts[i]))
			err = find_place(builder, (uint32_t)selection->counts[i].offset, &place);
	}
	if (err)
		return err;
	seen = calloc(tree->frame_count + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count_count; i++) {
		const struct selection_count *count = &selection->counts[i];

		if (is_wanted(builder->request, count))
			add_samples(tree, builder->places[count->offset], count, seen, (uint32_t)i + 1);
	}
	free(seen);
	return order_tree(tree);
}

int
call_tree_make(const struct call_tree_request *request, struct call_tree *tree)
{
	struct tree_builder builder = {.request = request, .tree = tree};
	const size_t count = (size_t)request->selection->stacks.count + 1;
	int err;

	*tree = (struct call_tree){0};
	builder.places = calloc(count, sizeof(*builder.places));
	err = builder.places ? begin_tree(&builder.growing, tree) : -ENOMEM;
	if (!err)
		err = add_counts(&builder);
	stack_table_free(builder.growing.table);
	free(builder.places);
	title_table_fini(&builder.titles);
	if (err)
		call_tree_fini(tree);
	return err;
}

void
call_tree_fini(struct call_tree *tree)
{
	for (size_t i = 0; i < tree->frame_count && !tree->borrows_frames; i++)
		free(tree->frames[i].title);
	if (!tree->borrows_frames)
		free(tree->frames);
	free(tree->nodes);
	*tree = (struct call_tree){0};
}

/* ---- the callers and the callees of procedures ---- */

/* Add the stacks that end at node `index` of `tree`, from the innermost wanted frame up. */
static int
add_callers(const struct call_tree *tree, const bool *wanted, uint32_t index, struct growing_tree *growing)
{
	struct call_tree *callers = growing->tree;
	const uint64_t samples = tree->nodes[index].own;
	uint32_t at = index, place = 0;

	while (samples && at && !wanted[tree->nodes[at].frame])
		at = tree->nodes[at].parent;
	if (!samples || !at)
		return 0;
	add(&callers->samples, samples);
	for (; at; at = tree->nodes[at].parent) {
		const int err = find_child(growing, place, tree->nodes[at].frame, &place);

		if (err)
			return err;
		add(&callers->nodes[place].total, samples);
	}
	add(&callers->nodes[place].own, samples); /* here the chain of callers ends */
	return 0;
}

int
call_tree_invert(const struct call_tree *tree, const bool *wanted, struct call_tree *callers)
{
	struct growing_tree growing;
	int err;

	err = begin_tree_of(tree, &growing, callers);
	for (uint32_t i = 1; !err && i < tree->node_count; i++)
		err = add_callers(tree, wanted, i, &growing);
	return end_tree(&growing, err);
}

int
call_tree_reroot(const struct call_tree *tree, const bool *wanted, struct call_tree *callees)
{
	uint32_t *places = calloc(tree->node_count, sizeof(*places)); /* by node of `tree`, as in struct tree_builder */
	struct growing_tree growing;
	int err;

	err = begin_tree_of(tree, &growing, callees);
	if (!places)
		err = -ENOMEM;
	for (uint32_t i = 1; !err && i < tree->node_count; i++) { /* callers come before what they call */
		const struct call_node *node = &tree->nodes[i];
		const uint32_t place = places[node->parent]; /* 0: no wanted frame is outside of this one */

		if (!place && !wanted[node->frame])
			continue;
		err = find_child(&growing, place, node->frame, &places[i]);
		if (err)
			break;
		add(&callees->nodes[places[i]].own, node->own);
		add(&callees->nodes[places[i]].total, node->total);
		if (!place)
			add(&callees->samples, node->total);
	}
	free(places);
	return end_tree(&growing, err);
}
