/*
 * schedule_issue.h - a block's instructions as they issue in order (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_SCHEDULE_ISSUE_H
#define DCPI_CODE_SCHEDULE_ISSUE_H

#include "code/schedule_parts.h"

/* Who made a register or a unit so: an instruction of this block, or by address one before. */
struct source {
	uint32_t index;
	uint64_t address;
};

/* Who made all of them so: for who asks what stalls are due to. */
struct issue_sources {
	struct source writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX];
};

/* The instructions of a block as they issue. */
struct issue {
	const struct pipeline *pipeline;
	const struct instruction *instructions;
	unsigned cycle, taken; /* where the last one issued, and how many issued there */
	uint64_t never_with;   /* what does not issue behind those */
	struct schedule_times times;
	unsigned used[PIPELINE_UNITS_MAX];  /* the cycle in which a unit was taken last, plus one */
	uint32_t could[PIPELINE_UNITS_MAX]; /* the units that would have done as well */
	struct issue_sources *sources;      /* NULL: nobody asks, and what follows is not used */
	unsigned next_half; /* the half-cycle in which the next one could issue, if nothing held it up */
	struct schedule *schedule;
	size_t capacity;
};

/* What holds an instruction up, before units are looked at. */
struct wait {
	unsigned cycle;
	enum stall_reason reason;
	unsigned reg; /* that it is */
};

enum verdict {
	ISSUES,
	TOGETHER, /* not in the same cycle with those that are there */
	BUSY,     /* a unit works on something of an earlier cycle */
};

/*
 * Whether the instruction could issue in `cycle`, by slotting and units: those that it takes as units[], as many as
 * `work` has uses; else the one in the way as *unit. What issued in the same cycle may be moved to other units.
 */
enum verdict issue_try_cycle(struct issue *issue, const struct instruction *instruction, const struct work *work,
                             unsigned cycle, unsigned *units, unsigned *unit);

void issue_occupy(struct issue *issue, const struct work *work, const unsigned *units, unsigned cycle,
                  struct source self);

/* Where the instruction that issued last stands in the listing: the first or a further one of its cycle. */
unsigned issue_half_cycle(const struct issue *issue);

/*
 * What was lost since instruction `index` could have issued: first for operands, then for units; the rest for the
 * slots. 0 or -ENOMEM.
 */
int issue_tell_stalls(struct issue *issue, uint32_t index, const struct wait *wait, unsigned busy_cycles,
                      struct source user);

#endif
