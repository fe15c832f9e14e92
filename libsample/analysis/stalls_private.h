/*
 * stalls_private.h - what the steps of an elimination share
 */
#ifndef DCPI_ANALYSIS_STALLS_PRIVATE_H
#define DCPI_ANALYSIS_STALLS_PRIVATE_H

#include "analysis/stalls.h"

#define SUSPECT_CULPRITS_MAX 16
#define RARE_EDGE            0.02 /* of what a block runs: a way to it that is less is ignored */

/* A reason that is not ruled out. */
struct suspect {
	double bound;                            /* cycles of an execution, at most */
	uint32_t culprits[SUSPECT_CULPRITS_MAX]; /* instructions, each once */
	uint32_t culprit_count;
	bool is_possible;
	bool is_itself;  /* it may be to blame itself, whether it is one of the culprits or not */
	bool is_open;    /* so may others, that are not known */
	double evidence; /* cycles that samples of events tell of; negative: they say nothing */
};

struct elimination {
	const struct stalls_input *input;
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	bool in_order;
	bool is_relative;    /* cycles are no cycles of the model */
	double scale;        /* a cycle of the model, in those of the frequencies */
	double *worth;       /* of each block: the same, at most; NULL: they are the same */
	uint64_t steps_left; /* of all searches for strides */
	bool asks_strides;   /* by now: what they rule out matters only to bounds */
	bool *fits_cache;    /* of each block: in a loop that goes round often without leaving the cache */
	bool *fits_tlb;
	bool *keeps_data; /* in such a loop whatever its code, with few accesses: what was just touched is still there
	                   */
	double line_share, page_share; /* of the time of instructions with few samples and no other reason that begin
	                                  a line, or page: what may be due to that */
	uint32_t *seen;                /* of each block: the last search that came by */
	uint32_t search;
	uint32_t *queue; /* of blocks, for a search */
	double *distances;
	struct stalls *result;
	size_t stall_capacity, culprit_capacity;
};

/* What a walk back over the flow graph came upon. */
struct walk {
	uint32_t at[SUSPECT_CULPRITS_MAX]; /* instructions, calls included */
	uint32_t count;
	uint32_t steps;   /* instructions that it looked at */
	bool from_caller; /* it came to the procedure's entry */
	bool is_lost;     /* there are more, or it took too long */
};

/*
 * From instruction `index` of `block` back, on every way that is not rare, to the nearest instruction that writes `reg`
 * (REGISTER_NONE: none) or has one of `classes` (bit n: class n), or is a call; no further than `cycles` of the best
 * case.
 */
void walk_back(struct elimination *elimination, uint32_t block, uint32_t index, uint8_t reg, uint64_t classes,
               double cycles, struct walk *walk);

/* The same for `reg` alone, but a way ends where it is needed: who comes later finds it there. */
void walk_back_to_use(struct elimination *elimination, uint32_t block, uint32_t index, uint8_t reg, double cycles,
                      struct walk *walk);

/* Which share of the block's executions comes over an edge: 0 to 1; 0 for a rare one. */
double edge_share(const struct elimination *elimination, uint32_t edge, uint32_t block);

/* Fill in fits_cache, fits_tlb and keeps_data. 0 or -ENOMEM. */
int find_loops(struct elimination *elimination);

/* Fill in line_share and page_share. After find_loops(). */
void compare_lines(struct elimination *elimination);

/* All reasons that instruction `index` of `block` may have, events not looked at. */
void suspects_find(struct elimination *elimination, uint32_t block, uint32_t index,
                   struct suspect suspects[CAUSE_COUNT]);
bool is_multiplier(unsigned class);
bool is_divider(unsigned class);

/* What the samples of events leave of those of instruction `index` of `block`. */
void suspects_bound(struct elimination *elimination, uint32_t block, uint32_t index,
                    struct suspect suspects[CAUSE_COUNT]);

/* With relative frequencies: fill in worth, from times of instructions and blocks. 0 or -ENOMEM. */
int find_worth(struct elimination *elimination);

/* What a cycle of the best case is worth, by those that cannot have stalled. */
double find_scale(struct elimination *elimination);

/* Fill in times of instructions and blocks: all of the result but reasons. 0 or -ENOMEM. */
int divide_time(struct elimination *elimination);

#endif
