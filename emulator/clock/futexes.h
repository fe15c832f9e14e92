/*
 * futexes.h - who woke whom, and when
 *
 * A thread that waited goes on at the time of who woke it. Linux wakes those who wait at an address in the order in
 * which they came; so does this. Which of two threads slept first may differ by a hair on the host: then they change
 * places when the other one returns.
 *
 * Thread rule: any thread, each for its own slot. Those of another process are not seen.
 */
#ifndef DCPI_EMULATOR_FUTEXES_H
#define DCPI_EMULATOR_FUTEXES_H

#include <limits.h>
#include <stdint.h>

#include "emulator/clock/skew.h"

struct futexes;

/* Those who are woken run again in `skew`, whose slots these are. NULL: no memory. */
struct futexes *futexes_new(struct skew *skew, unsigned slots);
void futexes_free(struct futexes *futexes);

/* The thread is about to wait at this address. */
void futexes_wait(struct futexes *futexes, unsigned slot, uint64_t address);

/* It returned, and was woken, or not. When: the time of who did; SKEW_NONE: not known. */
uint64_t futexes_waited(struct futexes *futexes, unsigned slot, bool was_woken);

/* When somebody woke others at this address for the last time; SKEW_NONE: not known. */
uint64_t futexes_last_wake(struct futexes *futexes, uint64_t address);

/* What a call does to those who wait: wake some, then move or wake some more at another address. */
struct futex_wake {
	uint64_t address;
	uint64_t count; /* that it wakes at most */
	uint64_t other; /* another address; 0: none */
	bool moves; /* those that are left at `address` wait at `other` from now on; else some there are woken, too */
};

/* The thread is about to wake others at the time `now`; and has woken, or moved, this many. */
void futexes_wake(struct futexes *futexes, unsigned slot, const struct futex_wake *wake, uint64_t now);
void futexes_woke(struct futexes *futexes, unsigned slot, int64_t result);

/* After a fork nobody waits. */
void futexes_fork(struct futexes *futexes);

#endif
