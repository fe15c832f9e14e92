/*
 * stalls_internal.h - the interface between the steps of an analysis of stalls
 */
#ifndef DCPI_ANALYSIS_STALLS_INTERNAL_H
#define DCPI_ANALYSIS_STALLS_INTERNAL_H

#include "analysis/stalls.h"
#include "base/workspace.h"

#define STALL_CULPRITS_MAX 16
#define STALL_RARE_EDGE    0.02 /* of a block's frequency: rarer edges to it are ignored */

/* A reason that is not ruled out. */
struct stall_suspect {
	double bound;                          /* cycles of an execution, at most */
	uint32_t culprits[STALL_CULPRITS_MAX]; /* instructions, each once */
	uint32_t culprit_count;
	bool is_possible;
	bool is_itself;  /* the stalled instruction may be a culprit, even if it is not in the list */
	bool is_open;    /* unknown instructions may be culprits */
	double evidence; /* cycles that samples of events account for; negative: not known */
};

struct stall_analysis {
	struct workspace space; /* of the arrays below */
	const struct stalls_input *input;
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	bool in_order;
	bool is_relative;           /* cycles are not cycles of the model */
	double scale;               /* a cycle of the model, in those of the frequencies */
	double *scale_max;          /* of each block: upper bound of `scale`; NULL: `scale` itself */
	uint64_t stride_steps_left; /* of all searches for strides */
	bool asks_strides;          /* false while possible reasons are counted: only bounds depend on strides */
	bool *fits_cache;           /* of each block: in a loop that iterates often without leaving the cache */
	bool *fits_tlb;
	bool *keeps_data; /* in such a loop, of any code size, with few accesses: what was just touched is cached */
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
 * stalls_reasons.c: find all possible reasons of instruction `index` of `block`, without samples of events, and put
 * them into `suspects`. Returns the site with them.
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
	bool from_caller; /* it reached the procedure's entry */
	bool is_lost;     /* there are more, or it took too long */
};

/*
 * Walk back from instruction `index` of `block`, over every edge that is not rare, to the nearest instructions that
 * write `reg` (REGISTER_NONE: none), have one of `classes` (bit n: class n), or are calls; no further than `cycles` of
 * the best case.
 */
void stall_walk_back(struct stall_analysis *analysis, uint32_t block, uint32_t index, uint8_t reg, uint64_t classes,
                     double cycles, struct stall_walk *walk);

/* Lower the bounds of the site's suspects by samples of events, and fill in their evidence. */
void stall_suspects_bound(const struct stall_site *site);

/* stalls_loops.c: fill in fits_cache, fits_tlb and keeps_data. 0 or -ENOMEM. */
int stall_find_loops(struct stall_analysis *analysis);

/*
 * The mean distance, in bytes, between the addresses of two successive executions of instruction `at`. False when it is
 * not known.
 */
bool stall_find_stride(struct stall_analysis *analysis, uint32_t at, double *bytes);

#endif
