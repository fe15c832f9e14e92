/*
 * locks.h - who takes a lock that was free on the host, and would not have been in virtual time
 *
 * Threads within a quantum of each other take a lock in the host's order. When one comes whose time is before the
 * release that it has seen, it waits in virtual time until then: what is held by one at a time must not add up to more
 * than the time that passes. A lock is known by its values: an atomic access that leaves something else than zero takes
 * it, the next one that leaves zero, by the same thread, releases it - as mutexes of C libraries, C++, Go and Rust do.
 * What never becomes zero, a counter say, is no lock and nobody waits for it. One that was free in between for long
 * enough is taken there: only when a stretch of time is used up does who comes wait for its end.
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_LOCKS_H
#define DCPI_EMULATOR_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define LOCKS_UNUSED_MAX 50000 /* cycles of gaps in which who comes late may still have it */

struct locks;

struct locks *locks_new(void); /* NULL: no memory */
void locks_free(struct locks *locks);

/*
 * Thread `slot` has done an atomic access to `address` at `now`, after which it `is_zero`. When it may go on: `now`, or
 * later.
 */
uint64_t locks_access(struct locks *locks, unsigned slot, uint64_t address, uint64_t now, bool is_zero);

/* After a fork: those who held any are not in this process. */
void locks_fork(struct locks *locks);

#endif
