/*
 * schedule.h - the least time a block can take, and why it cannot take less
 *
 * In order (DCPI's static model, section 6.2 of "Continuous Profiling: Where Have All the Cycles Gone?", ACM TOCS
 * 15(4), 1997): instructions issue in their order, up to `issue_width` in a cycle as long as units and slotting rules
 * allow, each when its operands are there; all loads hit the first-level cache, and no branch is mispredicted. M, the
 * least time at the head of the issue queue, is the cycles from the issue of the instruction before: 0 for one that
 * issues with it. Best case = the sum of all M. Time that is lost is counted in half-cycles, the lines of a listing: an
 * instruction that could have followed in the same or the next half-cycle, and did not, has a static stall.
 *
 * Out of order: best case of a block that follows itself = the largest of four lower bounds on the cycles an
 * iteration takes:
 *  - front end: its micro-operations / issue width, or its taken branches / branches in a cycle;
 *  - units: the largest, over all sets U of units, of (cycles of uses that only units in U can serve) / |U|. No
 *    distribution of the work over the units can be better, and one that reaches it exists (Hall's theorem, with
 * fractions);
 *  - stores, of a block that follows itself: the different address registers of its stores / lines that can be written
 *    in a cycle. Those with the same registers may go to one line; that different ones never do is assumed.
 *  - latency: the largest, over all cycles of register dependences, of (the sum of latencies on it) / (iterations it
 *    spans). Loads take the first-level cache's latency; dependences through memory are not seen.
 * The first two are also lower bounds for a block that does not follow itself; only they are used then.
 *
 * No state: any thread.
 */
#ifndef DCPI_CODE_SCHEDULE_H
#define DCPI_CODE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/instruction.h"
#include "code/pipeline.h"

#define SCHEDULE_NOTHING UINT32_MAX       /* no instruction */
#define SCHEDULE_BEFORE  (UINT32_MAX - 1) /* one in a block before: see culprit_address */

enum stall_reason {
	STALL_SLOTTING, /* it does not issue together with the ones before it */
	STALL_RA,       /* its first data operand is not ready */
	STALL_RB,       /* its second one, or an address */
	STALL_RC,       /* a further operand, or what it writes is still to be written by an earlier one */
	STALL_UNIT,     /* the unit it needs is busy with an earlier cycle's work */
	STALL_REASON_COUNT,
};

struct static_stall {
	uint32_t instruction;     /* index in the block */
	uint8_t reason;           /* enum stall_reason */
	uint32_t half_cycles;     /* how long */
	uint32_t culprit;         /* index in the block, or SCHEDULE_BEFORE */
	uint64_t culprit_address; /* of it */
};

enum schedule_bound {
	BOUND_ISSUE,   /* in order: everything together */
	BOUND_FRONT,   /* the width of the front end */
	BOUND_BRANCH,  /* taken branches */
	BOUND_UNITS,   /* execution units */
	BOUND_STORES,  /* lines of the cache that are written */
	BOUND_LATENCY, /* a chain of dependences from one iteration to the next */
};

struct schedule_line {
	double minimum_cycles; /* M in order; else its share of the best case, by its micro-operations */
	bool dual;             /* in order: issues with the one before it */
	bool critical;         /* out of order: part of what bounds the block */
	uint32_t waits_for;    /* the load of this block, before this one, that makes an operand; or SCHEDULE_NOTHING */
};

struct schedule {
	size_t count; /* instructions */
	struct schedule_line *lines;
	double best_cycles;        /* of one execution, or of one iteration if it follows itself */
	enum schedule_bound bound; /* what best_cycles are */
	double front_cycles, unit_cycles, store_cycles, latency_cycles; /* out of order: the four */
	uint32_t bound_units;                                           /* BOUND_UNITS: those that are full, as bits */
	struct static_stall *stalls; /* in order; ascending by instruction, in the order in which they hold it up */
	size_t stall_count;
};

/* In cycles after the block's end. */
struct schedule_times {
	unsigned ready[REGISTER_COUNT];    /* when it can be read */
	unsigned busy[PIPELINE_UNITS_MAX]; /* when the unit is free */
};

/* What is not ready yet at the end of a block, in order, for the block behind it. All zero: everything is ready. */
struct schedule_state {
	struct schedule_times times;
	uint64_t writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX]; /* addresses of the instructions that make it so */
};

/*
 * Schedule `count` (1 or more) instructions that follow one another. `follows_itself`: the block is a loop's only one,
 * and what is asked for is an iteration among many. `before` is what comes in, in order (NULL: nothing), and *after
 * what goes out (NULL: not wanted); neither is looked at out of order or with `follows_itself`. 0, and free it with
 * schedule_fini(); -ENOMEM, -EINVAL (no instruction).
 */
int schedule_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                   bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                   struct schedule *schedule);
void schedule_fini(struct schedule *schedule);

/*
 * In order, only the cycles in which instructions issue: cycles[i] of each of `count` (1 or more), from 0 on, behind a
 * block that left `times`, which becomes what these leave. Returns how many cycles they take. Agrees with
 * schedule_block(), in less time.
 */
unsigned schedule_issue(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                        struct schedule_times *times, unsigned *cycles);

/*
 * Out of order, only the best case of a block that does not follow itself, of `count` (1 or more) instructions, and as
 * shares[i] the minimum_cycles of each. Agrees with schedule_block(), in less time.
 */
double schedule_shares(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                       double *shares);

/* Where control flow joins: make `state` the earlier of both states for each register and unit (the best case). */
void schedule_state_meet(struct schedule_state *state, const struct schedule_state *other);

/* For a listing: "slotting", "Ra dependency", ...; "front end", "units", ...; "?" for what is none. */
const char *stall_reason_name(unsigned reason);
const char *schedule_bound_name(unsigned bound);

#endif
