/*
 * skew.h - threads keep within a quantum of the slowest
 *
 * Each has a slot with its clock. Who runs is waited for; who is in a system call that may block is not. A waiting
 * thread sleeps on the host until the slowest has come near enough. It stops waiting when that cannot be: the slowest
 * itself sleeps where it should run, because it waits in the emulator for every other thread to leave its block.
 *
 * Thread rule: each slot by its own thread, but for skew_wake() and skew_begin(), which another may call.
 */
#ifndef DCPI_EMULATOR_SKEW_H
#define DCPI_EMULATOR_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#define SKEW_NONE UINT64_MAX /* no thread runs */

struct skew;

/* `host_cores`: with more threads running than these, nobody spins. NULL: no memory. */
struct skew *skew_new(unsigned slots, uint64_t quantum, unsigned host_cores);
void skew_free(struct skew *skew);

/* The slot is a new thread's, which runs from `clock` on; skew_bind() by itself, before anything else. */
void skew_begin(struct skew *skew, unsigned slot, uint64_t clock);
void skew_bind(struct skew *skew, unsigned slot);
void skew_end(struct skew *skew, unsigned slot);

/* It is not waited for until it returns, or is woken. */
void skew_leave(struct skew *skew, unsigned slot);
void skew_return(struct skew *skew, unsigned slot, uint64_t clock);

/*
 * Another thread woke it: it is waited for, from `clock` on, though it has not returned yet. Without effect unless it
 * has left.
 */
void skew_wake(struct skew *skew, unsigned slot, uint64_t clock);

/* It sleeps on the host until `clock`, a time: it is waited for. */
void skew_sleep(struct skew *skew, unsigned slot, uint64_t clock);

/* It is in a system call that should not block; when it does, it is not waited for. */
void skew_call(struct skew *skew, unsigned slot, bool is_in_call);

enum skew_wait {
	SKEW_NEAR,    /* at once */
	SKEW_WAITED,  /* it is near now */
	SKEW_GAVE_UP, /* the slowest cannot come */
};

/* Its clock is `clock` now; wait until that is near. */
enum skew_wait skew_reach(struct skew *skew, unsigned slot, uint64_t clock);

/* The process ends: nobody waits any more. */
void skew_open(struct skew *skew);

/* The slowest but for `slot`; SKEW_NONE. And how many run. */
uint64_t skew_slowest(const struct skew *skew, unsigned slot);
unsigned skew_running(const struct skew *skew);

/* After a fork: nobody but `slot` is there. */
void skew_fork(struct skew *skew, unsigned slot);

#endif
