/*
 * stalls_internal.h - what the steps of an analysis of stalls share
 */
#ifndef DCPI_ANALYSIS_STALLS_INTERNAL_H
#define DCPI_ANALYSIS_STALLS_INTERNAL_H

#include "analysis/stalls.h"
#include "base/workspace.h"

#define STALL_CULPRITS_MAX 16
#define STALL_RARE_EDGE    0.02 /* of what a block runs: an edge to it that is less is ignored */

/* A reason that is not ruled out. */
struct stall_suspect {
	double bound;                          /* cycles of an execution, at most */
	uint32_t culprits[STALL_CULPRITS_MAX]; /* instructions, each once */
	uint32_t culprit_count;
	bool is_possible;
	bool is_itself;  /* the stalled instruction may be to blame, whether it is among culprits or not */
	bool is_open;    /* instructions that are not known may be to blame */
	double evidence; /* cycles that samples of events account for; negative: they say nothing */
};

struct stall_analysis {
	struct workspace space; /* of the arrays below */
	const struct stalls_input *input;
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	bool in_order;
	bool is_relative;           /* cycles are no cycles of the model */
	double scale;               /* a cycle of the model, in those of the frequencies */
	double *scale_max;          /* of each block: upper bound of `scale`; NULL: `scale` itself */
	uint64_t stride_steps_left; /* of all searches for strides */
	bool asks_strides;          /* only bounds depend on strides: not while possible reasons are counted */
	bool *fits_cache;           /* of each block: in a loop that iterates often without leaving the cache */
	bool *fits_tlb;
	bool *keeps_data; /* in such a loop whatever its code, with few accesses: what was just touched is cached */
	double line_share, page_share; /* of the time of instructions with few samples and no other reason that begin
	                                  a line, or page: what may be due to that */
	uint32_t *seen;                /* of each block: the last search that visited it */
	uint32_t search;
	uint32_t *queue; /* of blocks, for a search */
	double *distances;
	struct stalls *result;
	size_t stall_capacity, culprit_capacity;
};

/* The instruction whose stall is explained. */
struct stall_site {
	struct stall_analysis *analysis;
	const struct instruction *instruction;
	uint32_t block, index; /* in the block */
	uint32_t at;           /* in the graph */
	struct stall_suspect *suspects;
};

/*
 * stalls_reasons.c: all reasons that instruction `index` of `block` may have, into `suspects`, samples of events not
 * considered. Returns the instruction with them.
 */
struct stall_site stall_suspects_find(struct stall_analysis *analysis, uint32_t block, uint32_t index,
                                      struct stall_suspect suspects[CAUSE_COUNT]);

/* After stall_find_loops(): fill in line_share and page_share. */
void stall_compare_lines(struct stall_analysis *analysis);

bool stall_is_multiplier(unsigned class);
bool stall_is_divider(unsigned class);

/* What a walk back over the flow graph found. */
struct stall_walk {
	uint32_t at[STALL_CULPRITS_MAX]; /* instructions, calls included */
	uint32_t count;
	uint32_t steps;   /* instructions that it visited */
	bool from_caller; /* it came to the procedure's entry */
	bool is_lost;     /* there are more, or it took too long */
};

/*
 * From instruction `index` of `block` back, over every edge that is not rare, to the nearest instruction that writes
 * `reg` (REGISTER_NONE: none) or has one of `classes` (bit n: class n), or is a call; no further than `cycles` of the
 * best case.
 */
void stall_walk_back(struct stall_analysis *analysis, uint32_t block, uint32_t index, uint8_t reg, uint64_t classes,
                     double cycles, struct stall_walk *walk);

/* Lower the bounds of the site's suspects by samples of events, and fill in their evidence. */
void stall_suspects_bound(const struct stall_site *site);

/* stalls_loops.c: fill in fits_cache, fits_tlb and keeps_data. 0 or -ENOMEM. */
int stall_find_loops(struct stall_analysis *analysis);

/*
 * How many bytes the accesses of instruction `at` are apart, on average, from one of its executions to the next. False
 * when it is not known.
 */
bool stall_find_stride(struct stall_analysis *analysis, uint32_t at, double *bytes);

#endif
