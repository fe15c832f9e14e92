/*
 * clock.h - virtual time: of each thread, among threads, and as the program sees it
 *
 * A thread's clock counts cycles of the target. Its owner adds the time of instructions; this module does the rest:
 * threads stay within a quantum of each other, a thread that waited continues at the time of the thread that woke it,
 * system calls take time, and with a real delay (setup.h) threads are delayed so that the host's time follows the
 * target's. When the guest asks the kernel about time, processors or random numbers, the kernel's answer is overwritten
 * with that of the target before the guest reads it.
 *
 * One clock per process. Thread rule: any thread, each for its own virtual CPU; the parent calls clock_thread_begin(),
 * while it is in its clone(). clock_reached() and clock_call_ended() may wait for other threads, but not for ever.
 */
#ifndef DCPI_EMULATOR_CLOCK_H
#define DCPI_EMULATOR_CLOCK_H

#include <stdint.h>

#include "emulator/record/record_file.h"
#include "emulator/setup.h"

#define CLOCK_VCPUS_MAX RECORD_VCPUS_MAX

struct clock;

/* How a thread's clock has advanced. */
struct clock_step {
	uint64_t now;            /* its clock */
	uint64_t limit;          /* time of the next clock_reached(); one in the past: at the next block */
	uint64_t call_cycles;    /* added for a system call: REASON_CALL */
	uint64_t blocked_cycles; /* added because it waited, or other threads had its core: REASON_BLOCKED */
};

/*
 * `directory`: of the run, whose processes share their times there (run_clock.h); `target`: the emulator's name of it.
 * NULL and errno: ENOMEM, ENOTSUP (no such target).
 */
struct clock *clock_new(const struct setup *setup, const char *directory, const char *target);
void clock_free(struct clock *clock);

/* The time at which this process began: 0, or that of the exec or fork that made it. */
uint64_t clock_start(const struct clock *clock);

/*
 * A thread begins on `vcpu`: the first of the process, or the one that the calling thread is creating. Returns its
 * time, which is its parent's. The thread's calls, waits, timeouts and delayed_ns are counted in `counters` (NULL:
 * none) of the record; the owner of `counters` counts cycles and clock.
 */
uint64_t clock_thread_begin(struct clock *clock, unsigned vcpu, struct record_counters *counters);
void clock_thread_end(struct clock *clock, unsigned vcpu, uint64_t now);

/* The core of the target whose caches the thread uses: 0 to setup.threads - 1. */
unsigned clock_thread_core(const struct clock *clock, unsigned vcpu);

/*
 * The thread's clock has reached its limit: the thread waits while it is too far ahead. To be called in a callback of a
 * block.
 */
void clock_reached(struct clock *clock, unsigned vcpu, uint64_t now, struct clock_step *step);

/* A system call as the guest makes it; `base` is what is added to its addresses. */
struct clock_call {
	int64_t number;
	uint64_t arguments[6];
	uint64_t base;
};

/*
 * To be called before and after the emulator makes the call. A call that does not return (exit, exec) has only the
 * first.
 */
void clock_call_began(struct clock *clock, unsigned vcpu, uint64_t now, const struct clock_call *call);
void clock_call_ended(struct clock *clock, unsigned vcpu, uint64_t now, int64_t result, struct clock_step *step);

/*
 * With DELAY_REAL: spend the thread's debt (delay.h). To be called before anything that other threads can see: an
 * atomic access, a barrier. The functions above do it themselves. Without a delay nothing happens.
 */
void clock_settle(struct clock *clock, unsigned vcpu, uint64_t now);

/* To be called in the child of a fork by its only thread, which continues on its virtual CPU. */
void clock_fork(struct clock *clock);

#endif
