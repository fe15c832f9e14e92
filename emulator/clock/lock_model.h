/*
 * lock_model.h - delays a thread that takes a lock which was free on the host, but held in virtual time
 *
 * Threads within a quantum of each other take a lock in the host's order. A thread whose time is before the release
 * that it has seen waits in virtual time until that release: holds of one lock must not add up to more than the time
 * that passes. A lock is recognized by its values: an atomic access that leaves something other than zero takes it, the
 * next one of that thread that leaves zero releases it - as mutexes of C libraries, C++, Go and Rust do. What never
 * becomes zero, a counter for instance, is no lock, and no thread waits for it.
 *
 * Holds that follow each other closely form a busy period. Gaps between them, in which the lock was free for long
 * enough, are used first: a thread that comes within the period waits for its end only when the gaps are used up.
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_LOCK_MODEL_H
#define DCPI_EMULATOR_LOCK_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define LOCK_MODEL_UNUSED_MAX 50000 /* cycles of gaps that later threads may still use */

struct lock_model;

struct lock_model *lock_model_new(void); /* NULL: no memory */
void lock_model_free(struct lock_model *model);

/*
 * Thread `slot` has done an atomic access to `address` at `now`, after which the value `is_zero`. Returns when the
 * thread may continue: `now`, or later.
 */
uint64_t lock_model_access(struct lock_model *model, unsigned slot, uint64_t address, uint64_t now, bool is_zero);

/* In the child of a fork: threads that held locks are not in this process. */
void lock_model_fork(struct lock_model *model);

#endif
