/*
 * clock.h - virtual time: of each thread, among threads, and as the program sees it
 *
 * A thread's clock counts cycles of the target. Its owner adds what instructions take; here is what else moves it:
 * threads stay within a quantum of each other, who was waiting goes on at the time of who woke it, system calls take
 * time, and with a real delay (setup.h) the host's time is made to keep step. What the guest asks the kernel about
 * time, processors and random numbers is answered for the target, by writing over the kernel's answer before the guest
 * has it.
 *
 * One clock a process. Thread rule: any thread, each for its own virtual CPU; clock_thread_begin() by the parent, while
 * it is in its clone(). clock_reached() may wait for other threads, clock_call_ended(), too; neither for ever.
 */
#ifndef DCPI_EMULATOR_CLOCK_H
#define DCPI_EMULATOR_CLOCK_H

#include <stdint.h>

#include "emulator/record/record_file.h"
#include "emulator/setup.h"

#define CLOCK_VCPUS_MAX RECORD_VCPUS_MAX

struct clock;

/* What became of a thread's time. */
struct clock_step {
	uint64_t now;            /* its clock, from here on */
	uint64_t limit;          /* when clock_reached() is to be called; it may be in the past: at the next block */
	uint64_t call_cycles;    /* that were added for a system call: REASON_CALL */
	uint64_t blocked_cycles; /* that were added while it waited, or others had its core: REASON_BLOCKED */
};

/*
 * `directory`: the run's, where processes of one run learn of each other's time; `target`: as the emulator calls it.
 * NULL and errno: ENOMEM, ENOTSUP (no such target).
 */
struct clock *clock_new(const struct setup *setup, const char *directory, const char *target);
void clock_free(struct clock *clock);

/* When this process began: 0, or the time of the exec or fork that made it. */
uint64_t clock_start(const struct clock *clock);

/*
 * A thread begins on `vcpu`: the process's first, or the one that the calling thread is making. Its time: its parent's.
 * `counters` (NULL: none) of the record get its calls, waits, timeouts and delayed_ns; cycles and clock are their
 * owner's.
 */
uint64_t clock_thread_begin(struct clock *clock, unsigned vcpu, struct record_counters *counters);
void clock_thread_end(struct clock *clock, unsigned vcpu, uint64_t now);

/* The core of the target that the thread's caches are those of: 0 to setup.threads - 1. */
unsigned clock_thread_core(const struct clock *clock, unsigned vcpu);

/* The thread's clock has come to the limit: it waits while it is too far ahead. In a callback of a block. */
void clock_reached(struct clock *clock, unsigned vcpu, uint64_t now, struct clock_step *step);

/* A system call as the guest makes it; `base` is what is added to its addresses. */
struct clock_call {
	int64_t number;
	uint64_t arguments[6];
	uint64_t base;
};

/* Before and after the emulator makes it. One that does not return - exit, exec - has only the first. */
void clock_call_began(struct clock *clock, unsigned vcpu, uint64_t now, const struct clock_call *call);
void clock_call_ended(struct clock *clock, unsigned vcpu, uint64_t now, int64_t result, struct clock_step *step);

/*
 * DELAY_REAL: spend what the thread owes, as before anything that others can see: an atomic access, a barrier. The
 * functions above do it themselves. Without a delay nothing happens.
 */
void clock_settle(struct clock *clock, unsigned vcpu, uint64_t now);

/* In the child of a fork, by its only thread, which goes on on the same virtual CPU. */
void clock_fork(struct clock *clock);

#endif
