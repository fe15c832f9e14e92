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

int procedure_samples(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_executions(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_schedules(const struct pipeline *pipeline, struct procedure_analysis *analysis);
int procedure_stalls(const struct procedure_input *input, struct procedure_analysis *analysis); /* last */

#endif
