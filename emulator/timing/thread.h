/*
 * thread.h - a guest's thread on a core of the target: its time, and the data of its callbacks
 *
 * The fields that each block and each access needs come first and together. Time is in cycles of the target. The static
 * clock is `clock - stall_cycles`: the time of the schedules alone; the overlap of misses is computed on it. Thread
 * rule: only the thread of this virtual CPU; data that other threads read is in emulator/clock/.
 */
#ifndef DCPI_EMULATOR_TIMING_THREAD_H
#define DCPI_EMULATOR_TIMING_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/model/hierarchy.h"
#include "emulator/model/predictor.h"
#include "emulator/record/recording.h"
#include "emulator/setup.h"
#include "emulator/timing/code.h"

#define THREAD_SHIFT         16                 /* each in its own 64 KiB of one area: found by a shift; */
#define THREAD_DATA          ((size_t)16 << 10) /* here its data filter begins, mostly */
#define THREAD_HISTORY       64                 /* blocks, misses and stalls that are remembered; a power of two */
#define THREAD_STORES        256
#define THREAD_STALLS        (THREAD_HISTORY + 2) /* places: one for the next, and one for what was found and is forgotten */
#define DEPENDENCE_REGISTERS 32
#define DEPENDENCE_MISSING   64
#define THREAD_NEVER         UINT64_MAX
#define THREAD_LIMIT         (UINT64_C(1) << 30) /* cycles until the clock's limit, and of a single step, at most */

struct timing;

/*
 * What a core of the target keeps when its thread ends: the next thread that begins on that core continues with it, on
 * any virtual CPU. Threads that share a core have one each.
 */
struct target_core {
	struct target_core *next;    /* in timing->idle_cores */
	unsigned number;             /* from 0 on */
	struct hierarchy *hierarchy; /* NULL: not modelled */
	struct predictor predictor;  /* while no thread runs on it */
};

/* How much longer than a hit a load takes. */
struct load_cost {
	uint32_t tlb_cycles, cache_cycles, wait_cycles;
	bool is_transfer; /* cache_cycles are those of a line of another core */
};

/* In order: a load that missed, for whose value an instruction of the running block, or of a later one, waits. */
struct load_use {
	uint64_t ready;
	uint64_t user_position; /* on the static clock */
	uint32_t culprit, user; /* instructions */
	uint16_t user_index;    /* BLOCK_NOT_USED: it is of a later block */
	uint8_t registers[2];
	struct load_cost cost;
};

/* A miss status holding register (MSHR): one for each miss that may be in flight. */
struct mshr {
	uint64_t ready;    /* when its miss is done, and the register is free */
	struct mshr *next; /* in the ring, in the order in which they were allocated */
};

/* A stall that is remembered, in a ring. */
struct past_stall {
	uint64_t position;     /* on the static clock; of the next one: that never comes; of one that is forgotten: 0 */
	uint64_t before;       /* where the one before it was; of the oldest: 0 */
	uint64_t stall_cycles; /* the thread's, before it; of the next one more than that can be */
	struct past_stall *on[2], *back; /* itself and the next; the one before */
};

/* A load that reads beyond (block.h), during its callbacks. */
struct half_load {
	uint64_t from, next; /* its address; of its next callback, or THREAD_NEVER */
};

/* A load that missed, out of order. */
struct missing_load {
	uint64_t ready;
	const struct block_dependence *load;
	uint32_t sequence; /* of its block */
};

/*
 * Which registers wait for missing loads. Blocks are evaluated after they ran, each once, and only while a load is
 * missing on which an address may depend.
 */
struct dependence {
	uint64_t until;     /* when the last of them is ready */
	uint32_t registers; /* that wait for a missing load (bit n: register n), before block `followed` */
	uint32_t followed;  /* sequence of the first block that was not evaluated */
	uint32_t count;     /* loads of that and later blocks; those over DEPENDENCE_MISSING are lost */
	struct missing_load missing[DEPENDENCE_MISSING];
	uint64_t ready[DEPENDENCE_REGISTERS]; /* until when registers wait */
};

/* In 2^-32 cycles. */
union thread_time {
	int64_t all;
	struct {
		uint32_t fraction;
		int32_t cycles;
	};
};

struct thread {
	union thread_time until_limit; /* clock minus `limit`: negative until it is reached; thread_clock() */
	uint64_t limit;                /* when the clock reaches it, a sample or a turn may be due */
	uint32_t sequence;             /* of the block that runs */
	struct edge *edge;             /* by which the block that runs was entered */
	uint64_t *executions;
	struct timing *timing;
	struct hit_filter *data_filter, *code_filter;
	struct predictor predictor;
	const struct edge *history[THREAD_HISTORY]; /* to the blocks that ran, by sequence */

	struct hierarchy *hierarchy; /* the core's */
	struct target_core *core;
	struct record_vcpu *record;
	unsigned vcpu;
	bool is_alive;
	uint64_t stall_cycles;           /* of the clock: all except the static schedules; includes the clock's start */
	uint64_t published_static;       /* static time that is in the record */
	uint64_t next_sample, next_turn; /* THREAD_NEVER: none */
	uint64_t random;
	uint32_t call;                          /* instruction that makes a system call */
	uint64_t countdowns[SETUP_EVENT_COUNT]; /* events until the next sample */
	uint64_t access_countdown;              /* accesses until the next sample of them; 0: there are none */
	uint64_t access_weight;                 /* what that sample will stand for */
	uint64_t access_random;
	uint32_t tid;

	struct mshr *oldest_mshr; /* allocated for the next load that misses, when it is free */
	uint64_t load_cycles;     /* of a hit in level 1, in the schedules */
	uint32_t mispredict_cycles;
	bool records_stalls;
	unsigned waiting_count; /* of `waiting` */
	uint16_t first_user;    /* of their user_index */
	struct half_load half;
	struct hierarchy_traffic traffic_before; /* counters without the hierarchy's traffic, modulo 2^64 */

	/* in order */
	struct load_use waiting[THREAD_HISTORY];

	/* out of order */
	struct dependence dependence;
	struct past_stall stalls[THREAD_STALLS];
	struct past_stall *next_stall, *oldest_stall, *found_stall; /* found_stall: found by the last search */
	uint64_t frontend_position, frontend_stall_cycles; /* position and stall_cycles when the front end restarted */

	struct mshr mshrs[THREAD_HISTORY];

	/* stores that missed */
	uint64_t store_done[THREAD_STORES];
	uint32_t store_culprits[THREAD_STORES];
	uint32_t store_count;
	uint64_t store_room,
		store_mshr_free_at; /* for the next: when the write buffer has room, when an MSHR is free */
};

_Static_assert(sizeof(struct thread) <= THREAD_DATA, "a thread has its place");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "union thread_time, and what a variant takes");

/* The clock now, in cycles. */
static inline uint64_t
thread_clock(const struct thread *thread)
{
	return thread->limit + (uint64_t)(int64_t)thread->until_limit.cycles;
}

/* Advance the clock by `cycles`, fewer than THREAD_LIMIT. */
static inline void
thread_pass(struct thread *thread, uint64_t cycles)
{
	thread->until_limit.all += (int64_t)(cycles << 32);
}

/* Whether the clock is below the limit: no sample and no turn is due. */
static inline bool
thread_is_below_limit(const struct thread *thread)
{
	return thread->until_limit.all < 0;
}

/* Set the limit to now, so that the next block handles it. */
static inline void
thread_expire_limit(struct thread *thread)
{
	thread->limit = thread_clock(thread);
	thread->until_limit.all = thread->until_limit.fraction;
}

/*
 * The filter in the thread's own area, which callbacks use: its data filter; or an empty filter, if the data filter has
 * no room there, or its lines and pages do not have the sizes for which callbacks are made.
 */
static inline struct hit_filter *
thread_filter(const struct thread *thread)
{
	return (struct hit_filter *)((uintptr_t)thread + THREAD_DATA);
}

/* Thread `vcpu` of the program begins. 0 or -errno: it is not modelled. */
int thread_begin(struct timing *timing, unsigned vcpu);
void thread_end(struct thread *thread);
void thread_free(struct thread *thread);

/* Free the cores on which threads have ended. */
void thread_free_idle_cores(struct timing *timing);

/* Bring the record up to date. */
void thread_publish(struct thread *thread);

/* Compute `limit` again. */
void thread_set_limit(struct thread *thread);

/* Apply the result of emulator/clock/ to the thread's time. */
struct clock_step;
void thread_step(struct thread *thread, const struct clock_step *step);

/* The thread's turn is due: it waits for others, and may continue on another core. To be called between blocks. */
void thread_turn(struct thread *thread);

/* The thread makes a system call; and returns from it. */
struct clock_call;
void thread_call_began(struct thread *thread, const struct clock_call *call);
void thread_call_ended(struct thread *thread, int64_t result);

/* In the child of a fork: the record is a new one, at its old address. */
void thread_fork(struct thread *thread);

#endif
