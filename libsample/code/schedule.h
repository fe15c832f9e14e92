/*
 * schedule.h - the least time a block can take, and why it cannot take less
 *
 * In order (DCPI's static model, section 6.2 of "Continuous Profiling: Where Have All the Cycles Gone?", ACM TOCS
 * 15(4), 1997): instructions issue in their order, up to `issue_width` in a cycle as long as units and slotting rules
 * allow, each when its operands are there; all loads hit the first-level cache, and no branch is mispredicted. M, the
 * least time of an instruction at the head of the issue queue, is the number of cycles since the instruction before it
 * issued: 0 if both issue together. Best case = the sum of all M. Lost time is counted in half-cycles, the lines of a
 * listing: an instruction that did not follow in the half-cycle of the one before it, or in the next half-cycle, has a
 * static stall.
 *
 * Out of order, the best case of a block that follows itself is the largest of four lower bounds on the cycles of an
 * iteration:
 *  - front end: its micro-operations / issue width, or its taken branches / branches in a cycle;
 *  - units: the largest, over all sets U of units, of (cycles of uses that only units in U can serve) / |U|. No
 *    distribution of the work over the units can be better, and one exists that reaches it (Hall's theorem, with
 *    fractions);
 *  - stores, of a block that follows itself: the different address registers of its stores / lines that can be written
 *    in a cycle. Stores with equal address registers may go to one line; stores with different ones are assumed never
 *    to do so.
 *  - latency: the largest, over all cycles of register dependences, of (the sum of latencies on it) / (iterations it
 *    spans). Loads have the latency of the first-level cache; dependences through memory are ignored.
 * For a block that does not follow itself, only the first two are used, which are lower bounds there, too.
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
	STALL_SLOTTING, /* it cannot issue together with the ones before it */
	STALL_RA,       /* its first data operand is not ready */
	STALL_RB,       /* its second data operand, or an address, is not ready */
	STALL_RC,       /* a further operand, or an earlier write of a register that it writes, is not ready */
	STALL_UNIT,     /* the unit that it needs is still busy with an earlier instruction */
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
	BOUND_ISSUE,   /* in order: all constraints together */
	BOUND_FRONT,   /* the width of the front end */
	BOUND_BRANCH,  /* taken branches */
	BOUND_UNITS,   /* execution units */
	BOUND_STORES,  /* written lines of the cache */
	BOUND_LATENCY, /* a chain of dependences from one iteration to the next */
};

struct schedule_line {
	double minimum_cycles; /* in order: M; else the instruction's share of the best case, by its micro-operations */
	bool dual;             /* in order: issues with the one before it */
	bool critical;         /* out of order: part of what bounds the block */
	uint32_t waits_for;    /* an earlier load of this block that makes an operand; or SCHEDULE_NOTHING */
};

struct schedule {
	size_t count; /* instructions */
	struct schedule_line *lines;
	double best_cycles;        /* of one execution, or of one iteration if it follows itself */
	enum schedule_bound bound; /* the bound that best_cycles is */
	double front_cycles, unit_cycles, store_cycles, latency_cycles; /* out of order: the four bounds */
	uint32_t bound_units;                                           /* BOUND_UNITS: the full units, as bits */
	struct static_stall *stalls; /* in order; ascending by instruction, then in the order in which they delay it */
	size_t stall_count;
};

/* In cycles after the block's end. */
struct schedule_times {
	unsigned ready[REGISTER_COUNT];    /* when the register can be read */
	unsigned busy[PIPELINE_UNITS_MAX]; /* when the unit is free */
};

/*
 * In order: the registers and units that are not ready at the end of a block, for the next block. All zero: everything
 * is ready.
 */
struct schedule_state {
	struct schedule_times times;
	uint64_t writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX]; /* addresses of the culprits */
};

/*
 * Schedule `count` (1 or more) consecutive instructions. `follows_itself`: the block is the only one of a loop, and the
 * schedule is for one of many iterations. In order, `before` is the state at the start of the block (NULL: all is
 * ready), and *after becomes the state at its end (NULL: not wanted); out of order, or with `follows_itself`, neither
 * is used. 0, and free the schedule with schedule_fini(); -ENOMEM, -EINVAL (no instruction).
 */
int schedule_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                   bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                   struct schedule *schedule);
void schedule_fini(struct schedule *schedule);

/*
 * In order: only find cycles[i], from 0 on, in which each of `count` (1 or more) instructions issues. `times` is what
 * the block before left, and becomes what this block leaves. Returns how many cycles the instructions take. Faster than
 * schedule_block(), with equal results.
 */
unsigned schedule_issue(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                        struct schedule_times *times, unsigned *cycles);

/*
 * Out of order: only find the best case of a block of `count` (1 or more) instructions that does not follow itself,
 * which is returned, and shares[i], the minimum_cycles of each instruction. Faster than schedule_block(), with equal
 * results.
 */
double schedule_shares(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                       double *shares);

/*
 * Join two states where control flow joins: for each register and unit, `state` becomes the earlier time (the best
 * case).
 */
void schedule_state_meet(struct schedule_state *state, const struct schedule_state *other);

/* For a listing: "slotting", "Ra dependency", ...; "front end", "units", ...; "?" for what is none. */
const char *stall_reason_name(unsigned reason);
const char *schedule_bound_name(unsigned bound);

#endif
