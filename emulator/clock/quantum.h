/*
 * quantum.h - threads keep within a quantum of the slowest
 *
 * Each thread has a slot with its clock. Threads that run are waited for; those in a system call that may block are
 * not. A waiting thread sleeps on the host until the slowest has come near enough. It gives up when the slowest cannot
 * come: when that one sleeps where it should run, because it waits in the emulator for every other thread to leave its
 * block.
 *
 * Thread rule: each slot by its own thread, but for quantum_wake(), quantum_begin() and, of a woken slot,
 * quantum_leave(), which another thread may call.
 */
#ifndef DCPI_EMULATOR_QUANTUM_H
#define DCPI_EMULATOR_QUANTUM_H

#include <stdbool.h>
#include <stdint.h>

#define QUANTUM_NONE UINT64_MAX /* no thread runs */

struct quantum;

/* `cycles`: the quantum; 0: no thread waits. `host_cores`: with more threads running, none spins. NULL: no memory. */
struct quantum *quantum_new(unsigned slots, uint64_t cycles, unsigned host_cores);
void quantum_free(struct quantum *quantum);

/* The slot is a new thread's, which runs from `clock` on; it calls quantum_bind() before anything else. */
void quantum_begin(struct quantum *quantum, unsigned slot, uint64_t clock);
void quantum_bind(struct quantum *quantum, unsigned slot);
void quantum_end(struct quantum *quantum, unsigned slot);

/* The thread enters a call that may block: it is not waited for until it returns, or is woken. */
void quantum_leave(struct quantum *quantum, unsigned slot);
void quantum_return(struct quantum *quantum, unsigned slot, uint64_t clock);

/*
 * Another thread woke it: it is waited for, from `clock` on, though it has not returned yet. Without effect unless it
 * has left.
 */
void quantum_wake(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The thread sleeps on the host until its clock is `clock`: it is waited for. */
void quantum_sleep(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The thread is in a system call that should not block, or no longer; when it does block, it is not waited for. */
void quantum_set_in_call(struct quantum *quantum, unsigned slot, bool is_in_call);

enum quantum_result {
	QUANTUM_NEAR,    /* it did not have to wait */
	QUANTUM_WAITED,  /* the slowest has come near */
	QUANTUM_GAVE_UP, /* the slowest cannot come */
};

/* The thread's clock is `clock` now; wait until the slowest is near. */
enum quantum_result quantum_wait(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The process ends: no thread waits any more. */
void quantum_release_all(struct quantum *quantum);

/* The least clock of those that are waited for, but for `slot`; or QUANTUM_NONE. And how many these are with it. */
uint64_t quantum_slowest(const struct quantum *quantum, unsigned slot);
unsigned quantum_running(const struct quantum *quantum);

/* In the child of a fork: `slot` is the only thread. */
void quantum_fork(struct quantum *quantum, unsigned slot);

#endif
