/*
 * call_tree.h - call stacks by procedure: a tree from the outermost callers down, or from a procedure up to its callers
 * or down to what it calls
 *
 * Frames of one procedure are one node below one caller, whichever its instructions. A procedure that the compiler
 * inlined is a frame of its own, below the one that it was inlined into. Weights are those of one event of
 * a selection with stacks; the image of a frame, and procedures of one name, are joined as in histogram.h.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALL_TREE_H
#define DCPI_TOOLS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

/* A procedure, or how stacks ended that were truncated. */
struct call_frame {
	char *title;             /* not escaped; "[truncated: no-tables]" */
	const char *image_title; /* borrowed from the request; NULL: truncated */
	uint32_t image;          /* index into the selection's images: of one that has this title; 0 if truncated */
	enum stack_end end;      /* if truncated */
	uint64_t own, inclusive; /* samples: its own; those with it anywhere in the stack, each once */
};

/* A node of the tree. Index 0 is the root, which stands for no procedure. */
struct call_node {
	uint32_t frame;                             /* index into frames */
	uint32_t parent, first_child, next_sibling; /* indices; 0: none */
	uint64_t own, total;                        /* samples that end here; with those below */
	uint64_t taken;                             /* of the total, as in struct selection_count; like squares */
	double squares;                             /* 0, like taken, in a tree of callers or callees */
};

struct call_tree {
	struct call_frame *frames;
	size_t frame_count;
	bool borrows_frames; /* of the tree that it was made of */
	struct call_node *nodes;
	uint32_t node_count;
	uint64_t samples; /* in all */
};

struct call_tree_request {
	const struct selection *selection; /* with stacks */
	uint16_t event;                    /* of the selection */
	const bool *wanted;                /* by image: only samples whose innermost frame is in it; NULL: all */
	char **image_titles;               /* by image (image_name.h) */
	struct symbolizer *symbolizer;
	bool demangle;
	bool no_inline; /* what was inlined counts for the procedure that it was inlined into */
};

/* The tree of all stacks, siblings by samples, descending, then by title. 0, -ENOMEM, or an error of the symbolizer. */
int call_tree_make(const struct call_tree_request *request, struct call_tree *tree);
void call_tree_fini(struct call_tree *tree); /* a zeroed one is allowed */

/*
 * The tree of the callers of all frames that are `wanted` (by frame): below the root are these frames, below each its
 * callers, and so on. A sample counts once, for the innermost call. Its frames are those of `tree`, which owns them and
 * must outlive it. 0 or -ENOMEM; call_tree_fini() frees what the inverted tree has.
 */
int call_tree_invert(const struct call_tree *tree, const bool *wanted, struct call_tree *callers);

/*
 * The tree of what all frames that are `wanted` call, whoever calls them: below the root are these frames, below each
 * its callees, and so on. A sample counts once, for the outermost call. Otherwise as call_tree_invert().
 */
int call_tree_reroot(const struct call_tree *tree, const bool *wanted, struct call_tree *callees);

#endif
