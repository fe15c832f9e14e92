/*
 * procedure_parts.h - the steps of an analysis (private to this room)
 *
 * Each fills in its part of an analysis that has a graph. 0 or -ENOMEM.
 */
#ifndef DCPI_ANALYSIS_PROCEDURE_PARTS_H
#define DCPI_ANALYSIS_PROCEDURE_PARTS_H

#include "analysis/procedure.h"

/* The instructions of one part of a procedure, and its place in the file. All zero: before the first. */
struct stretch {
	uint32_t first, last; /* instructions; last is one behind */
	uint64_t start, end;  /* offsets */
};

/* Instructions ascend part by part: the next stretch of them that follow one another; false: there is none. */
bool stretch_next(const struct procedure_input *input, const struct flow_graph *graph, struct stretch *stretch);

/* The instruction of the stretch that holds `offset`: a walk from `at` on, for offsets that ascend. */
uint32_t stretch_advance(const struct flow_graph *graph, const struct stretch *stretch, uint64_t offset, uint32_t at);

/* How often paths went over each edge, and through each block. NULL: nothing is known. */
struct path_counts {
	uint64_t *edges;
	uint64_t *visits; /* of the block's last instruction */
};

int path_counts_init(struct path_counts *counts, const struct procedure_input *input, const struct flow_graph *graph,
                     const struct procedure_paths *paths);
void path_counts_fini(struct path_counts *counts); /* also when there was no memory for it */

/* How often each instruction was executed on these paths; free it. NULL: no memory. */
uint64_t *procedure_visits(const struct procedure_input *input, const struct flow_graph *graph,
                           const struct procedure_paths *paths);

#define NOT_AN_EDGE UINT32_MAX

/* The edge that the graph has for a transfer between two addresses; calls and steps within a block have none. */
uint32_t procedure_edge_find(const struct flow_graph *graph, uint64_t from, uint64_t to);

int procedure_samples(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_executions(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_schedules(const struct pipeline *pipeline, struct procedure_analysis *analysis);
int procedure_stalls(const struct procedure_input *input, struct procedure_analysis *analysis); /* last */

#endif
