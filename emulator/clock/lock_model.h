/*
 * lock_model.h - delay a thread that takes a lock which is free on the host, but held in virtual time
 *
 * Threads within a quantum of each other take a lock in the host's order. If a thread's time is before the release that
 * let it take the lock, it waits in virtual time until that release: the holds of a lock must not take more time than
 * passes. A lock is recognized by its values, as mutexes of C libraries, C++, Go and Rust have them: an atomic access
 * that leaves a value other than zero takes it, and the next one of that thread that leaves zero releases it. A value
 * that never becomes zero, such as a counter, is no lock, and no thread waits for it.
 *
 * Holds that follow each other closely form a busy period. A thread that comes within the period first uses gaps
 * between holds in which the lock was free for long enough; only when the gaps are used up does it wait for the end of
 * the period.
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
 * Thread `slot` has done an atomic access to `address` at `now`; `is_zero`: the value there is zero afterwards. Returns
 * when the thread may continue: `now`, or later.
 */
uint64_t lock_model_access(struct lock_model *model, unsigned slot, uint64_t address, uint64_t now, bool is_zero);

/* In the child of a fork: the threads that held locks are not in this process. */
void lock_model_fork(struct lock_model *model);

#endif
