/*
 * thread.h - a guest's thread on a core of the target: its time, and what its callbacks look at
 *
 * What each block and each access needs comes first and together. Time is in the target's cycles. The static clock is
 * `clock - other`: what the schedules alone make of the time that has passed; misses that overlap are laid out on it.
 * Thread rule: of the thread that is this virtual CPU; what others look at is in emulator/clock/.
 */
#ifndef DCPI_EMULATOR_TIMING_THREAD_H
#define DCPI_EMULATOR_TIMING_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/block/block.h"
#include "emulator/model/hierarchy.h"
#include "emulator/model/predictor.h"
#include "emulator/record/recording.h"
#include "emulator/setup.h"
#include "emulator/timing/dependence.h"

#define THREAD_SHIFT     14 /* each in its own 16 KiB of one area: found by a shift */
#define THREAD_HISTORY   64 /* blocks, misses and stalls that are remembered; a power of two */
#define THREAD_STORES    256
#define THREAD_STALLS    (2 * THREAD_HISTORY) /* places for those that are remembered, and for one behind them */
#define THREAD_DISTANCES 512
#define THREAD_NEVER     UINT64_MAX
#define THREAD_NO_LINE   (UINT64_MAX - 1) /* stands in no table of plain hits */

struct timing;
struct code;
struct load_stall;
struct core_ways;

/* An instruction that accesses memory, as its callback is told. */
struct access {
	const struct code *code;
	uint16_t index;
	bool may_store; /* some of its group */
};

#define CODE_SEVERAL_LINES (UINT64_MAX - 2) /* is never a last line */

/* What the predictor has to do with a block's end. */
enum code_ending {
	CODE_ENDS_PLAINLY,
	CODE_BRANCHES,
	CODE_CALLS,
	CODE_RETURNS,
	CODE_GOES_ANYWHERE, /* jumps or calls indirectly */
};

/*
 * A translated block, as its callback is told: what each execution needs is on one line of the host's cache, and what
 * most of the others need is on the next one, which the host often brings with it (ARENA_PAIR).
 */
struct code {
	uint64_t address, page;
	uint64_t only_line; /* that it is on; CODE_SEVERAL_LINES */
	const struct block *block;
	struct variant *variants[2]; /* out of order: behind another block, and, once it is made, behind itself */
	uint32_t fall;               /* where a branch that is not taken goes: as much of it as tells it from others */
	uint32_t number;
	uint32_t site;             /* of its conditional branch, for the predictor */
	uint8_t ending;            /* enum code_ending */
	uint16_t second_line_from; /* of two lines: the first instruction that has a byte in the second */

	union {
		struct variant behind_other;    /* out of order: variants[0] */
		struct load_stall *load_stalls; /* in order: of each instruction */
	};
	uint64_t last_line;       /* of two, or the only one; THREAD_NO_LINE: to be looked at each time */
	uint32_t first, last;     /* of the record's instructions */
	struct code *same;        /* with this number, at another address */
	struct access accesses[]; /* that have callbacks */
};

/* What a load takes longer than a hit. */
struct load_cost {
	uint32_t tlb_cycles, cache_cycles, wait_cycles;
};

_Static_assert(offsetof(struct code, behind_other) == 64, "the hot part of it is one line");
_Static_assert(offsetof(struct code, same) <= 2 * 64, "what others need is the next one");

/* A load that missed, in order: its value is waited for by an instruction of the block that runs, or of a later one. */
struct waiting_load {
	uint64_t ready;
	uint64_t user_position; /* on the static clock */
	uint32_t culprit, user; /* instructions */
	uint16_t user_index;    /* BLOCK_NOT_USED: it is of a later block */
	uint8_t registers[2];
	struct load_cost cost;
};

/* A load that missed, of as many as may be in flight. */
struct flight {
	uint64_t ready;      /* when it is done */
	struct flight *next; /* of a ring, and the next that was begun */
};

struct past_stall {
	uint64_t position, other; /* before it */
};

struct thread {
	uint64_t clock;
	uint64_t limit;    /* when the clock has reached it there is something to do */
	uint32_t fraction; /* of a cycle, in 2^-32 */
	uint32_t sequence; /* of the block that runs */
	struct variant *variant;
	const struct code *code;
	uint64_t *executions;
	struct timing *timing;
	struct plain_hits *data_plain, *code_plain;
	struct predictor predictor;
	uint64_t last_line;                         /* of code, that was used last; THREAD_NO_LINE */
	const struct code *history[THREAD_HISTORY]; /* by sequence */

	struct hierarchy *hierarchy;
	struct record_vcpu *record;
	unsigned vcpu;
	bool is_used;
	uint64_t other;                  /* of the clock: stalls, calls, waiting, and what it began with */
	uint64_t published_static;       /* of it, what is in the record */
	uint64_t next_sample, next_turn; /* THREAD_NEVER: none */
	uint64_t random;
	uint32_t call;                          /* instruction that makes a system call */
	uint64_t countdowns[SETUP_EVENT_COUNT]; /* events until the next sample */

	const struct core_ways *core;
	struct flight *oldest_flight; /* the next load that misses takes its place, not before it is done */
	uint64_t load_cycles;         /* of a hit in level 1, as the schedules have it */
	uint32_t second_cycles;       /* that a load from level 2 takes longer than that */
	bool records_stalls;
	unsigned waiting_count; /* of `waiting` */

	/* in order */
	struct waiting_load waiting[THREAD_HISTORY];

	/* out of order */
	struct dependence dependence;
	struct past_stall stalls[THREAD_STALLS]; /* behind the last: at a position that never comes */
	uint32_t stall_count, stall_found;       /* so far, and THREAD_HISTORY; the one that was looked for last */
	uint64_t front_position, front_time;     /* when the front end began anew */

	struct flight in_flight[THREAD_HISTORY];

	/* stores that missed */
	uint64_t store_done[THREAD_STORES];
	uint32_t store_culprits[THREAD_STORES];
	uint32_t store_count;
	uint64_t store_room, store_turn; /* for the next: when the write buffer has room; when it may be in flight */

	/* how far behind its first place in the record one stall or another was that was not there */
	uint32_t stall_distances[THREAD_DISTANCES];
};

_Static_assert(sizeof(struct thread) <= 1 << THREAD_SHIFT, "a thread has its place");

/* Thread `vcpu` of the program begins. 0 or -errno: it is not modelled. */
int thread_begin(struct timing *timing, unsigned vcpu);
void thread_end(struct thread *thread);
void thread_free(struct thread *thread);

/* What is in the record is what has happened. */
void thread_publish(struct thread *thread);

/* `limit` anew. */
void thread_set_limit(struct thread *thread);

/* Instruction `stalled` holds up everything for `cycles`, not 0, because of `culprit`. */
void thread_stall(struct thread *thread, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                  uint64_t cycles);

/* What emulator/clock/ says of the time. */
struct clock_step;
void thread_step(struct thread *thread, const struct clock_step *step);

/* The thread makes a system call, and comes back from it. */
struct clock_call;
void thread_call_began(struct thread *thread, const struct clock_call *call);
void thread_call_ended(struct thread *thread, int64_t result);

/* In the child of a fork: the record is a new one, in the same place. */
void thread_fork(struct thread *thread);

#endif
