/*
 * flame_graph.h - the call stacks of one set of samples, or of two beside each other, as frames that have a place
 *
 * A node is a procedure below one caller. The procedures of two sets are one if they have one name, and their images
 * one file name: builds of a program lie in several places.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_FLAME_GRAPH_H
#define DCPI_TOOLS_FLAME_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/call_tree.h"
#include "dcpi-tools/common/title_table.h"
#include "dcpi-tools/diff/compare.h"
#include "profile/selection.h"

/* Where code comes from. */
enum flame_origin {
	FLAME_PROGRAM,
	FLAME_LIBRARY,
	FLAME_KERNEL,   /* and its modules, and code that it made */
	FLAME_RUN_TIME, /* memory without a file */
	FLAME_TRUNCATED,
	FLAME_ORIGINS,
};

struct flame_frame {
	char *title;
	char *image; /* NULL: truncated */
	enum flame_origin origin;
};

/* A node of the graph. Index 0 is the root: all samples. */
struct flame_node {
	uint32_t frame;                             /* index into frames; not of the root */
	uint32_t parent, first_child, next_sibling; /* indices; 0: none */
	uint32_t depth;                             /* of the root: 0 */
	struct compare_count samples[2];            /* of each set, with those of the nodes below */
	double left, width;                         /* as shares of the root: by the last set */
	bool is_shown;
	struct diff_comparison comparison; /* of two sets, of shown nodes */
};

struct flame_graph {
	size_t set_count; /* that were added: 1, or 2: before and after */
	struct flame_frame *frames;
	size_t frame_count;
	struct flame_node *nodes;
	size_t node_count;
	uint32_t depth;        /* of the deepest shown node */
	uint64_t truncated[2]; /* samples of each set that have a stack without its end */

	/* private */
	size_t frame_capacity, node_capacity;
	struct title_table titles; /* of the frames: numbers are their indices */
	struct stack_table *calls; /* a node has its number here, as a stack of frames */
};

/* 0 or -ENOMEM; in any case flame_graph_fini() it. */
int flame_graph_init(struct flame_graph *graph);
void flame_graph_fini(struct flame_graph *graph); /* a zeroed one is allowed */

/* Add the stacks of set number `set`, whose selection the tree was made of. 0 or -ENOMEM. */
int flame_graph_add(struct flame_graph *graph, size_t set, const struct call_tree *tree,
                    const struct selection *selection);

/*
 * Give all nodes with at least `least` (0 to 1) of the root's samples their place: siblings by samples of the last set,
 * descending, then by name. Call it when all sets are added. 0 or -ENOMEM.
 */
int flame_graph_place(struct flame_graph *graph, double least);

/* Compare the shares of all shown nodes in both sets; `scale` but for its totals is the caller's. 0 or -ENOMEM. */
int flame_graph_compare(struct flame_graph *graph, struct compare_scale *scale, double alpha);

#endif
