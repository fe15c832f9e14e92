/*
 * futex_model.h - which thread woke which on a futex, and when
 *
 * A thread that waited continues at the time of the thread that woke it. Linux wakes the waiters of an address in the
 * order in which they came, and so does the model. If the host put two threads to sleep in the other order, a moment
 * apart, they change places when the other one returns.
 *
 * Thread rule: any thread, each for its own slot. Threads of another process are not seen.
 */
#ifndef DCPI_EMULATOR_FUTEX_MODEL_H
#define DCPI_EMULATOR_FUTEX_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/clock/quantum.h"

struct futex_model;

/* `slots` are those of `quantum`, in which woken threads run again. NULL and errno ENOMEM: no memory. */
struct futex_model *futex_model_new(struct quantum *quantum, unsigned slots);
void futex_model_free(struct futex_model *model);

/* The thread is about to wait at this address. */
void futex_model_wait_begin(struct futex_model *model, unsigned slot, uint64_t address);

/*
 * The wait of `slot` returned. Returns the time of the thread that woke it; QUANTUM_NONE: none did, or it is not known.
 */
uint64_t futex_model_wait_end(struct futex_model *model, unsigned slot, bool was_woken);

/* When a thread last woke others at this address; QUANTUM_NONE: not known. */
uint64_t futex_model_last_wake(struct futex_model *model, uint64_t address);

/* What a call does to waiters: wake some, then move or wake some more at another address. */
struct futex_wake {
	uint64_t address;
	uint64_t count; /* how many it wakes at most */
	uint64_t other; /* another address; 0: none */
	bool moves;     /* waiters left at `address` are moved to `other`; false: some at `other` are woken, too */
};

/* The thread is about to wake others at the time `now`; afterwards: it has woken, or moved, `result` threads. */
void futex_model_wake_begin(struct futex_model *model, unsigned slot, const struct futex_wake *wake, uint64_t now);
void futex_model_wake_end(struct futex_model *model, unsigned slot, int64_t result);

/* In the child of a fork: no thread waits. */
void futex_model_fork(struct futex_model *model);

#endif
