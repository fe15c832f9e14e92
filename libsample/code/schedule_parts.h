/*
 * schedule_parts.h - what the files that schedule a block share
 */
#ifndef DCPI_CODE_SCHEDULE_PARTS_H
#define DCPI_CODE_SCHEDULE_PARTS_H

#include "code/schedule.h"

#define WORK_USES_MAX (3 * PIPELINE_USES_MAX)

/* What an instruction takes: its operation and its accesses together. */
struct work {
	unsigned load_latency;  /* from an address to what is loaded; 0: nothing is */
	unsigned latency;       /* from that and from data operands to the result */
	unsigned upper_latency; /* the same, to a product's upper half */
	unsigned micro_operations;
	unsigned use_count;
	struct pipeline_use uses[WORK_USES_MAX];
};

/* `next`: the instruction behind it, with which it may be fused; NULL: none. */
void work_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
             struct work *work);

/* Whether `reg` is what an access adds to its address register, and so ready before what is loaded. */
bool is_written_back(const struct instruction *instruction, unsigned write);

/* Whether it is the upper half of a product whose lower half is another result. */
bool is_upper_half(const struct instruction *instruction, unsigned write);

int schedule_in_order(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                      bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                      struct schedule *schedule);

/* The work that only some units can do, by which these are. */
#define UNIT_DEMANDS_MAX (PIPELINE_UNITS_MAX * 2)

struct unit_demand {
	uint32_t units;
	double cycles;
};

struct unit_demands {
	size_t count;
	struct unit_demand of[UNIT_DEMANDS_MAX];
};

/* `demands` begins with a count of 0. The bound of the units; the units that are full as *full. It orders them anew. */
void unit_demands_add(struct unit_demands *demands, const struct work *work);
double unit_demands_bound(struct unit_demands *demands, uint32_t *full);

/* The bound of the dependences; those on the longest cycle are marked in schedule->lines. 0 or -ENOMEM. */
int schedule_latency_bound(const struct instruction *instructions, const struct work *works, size_t count,
                           struct schedule *schedule);

#endif
