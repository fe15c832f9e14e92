/*
 * quantum.h - threads keep within a quantum of the slowest
 *
 * Each thread has a slot with its clock. A thread that is too far ahead waits for threads that run, but not for threads
 * in a system call that may block. It sleeps on the host until the slowest thread is near enough. It gives up when the
 * slowest thread cannot advance: when that thread sleeps although it should run, because it waits in the emulator for
 * every other thread to leave its block.
 *
 * Thread rule: a slot's functions are called by its own thread; another thread may call quantum_wake(), quantum_begin()
 * and, for a woken slot, quantum_leave().
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

/* The slot belongs to a new thread, which runs from `clock` on, and calls quantum_bind() before anything else. */
void quantum_begin(struct quantum *quantum, unsigned slot, uint64_t clock);
void quantum_bind(struct quantum *quantum, unsigned slot);
void quantum_end(struct quantum *quantum, unsigned slot);

/*
 * The thread enters a call that may block: once it sleeps there, others do not wait for it until it returns, or is
 * woken. Before that they do: the host may have taken its core away, and it may return without having slept.
 */
void quantum_leave(struct quantum *quantum, unsigned slot);
void quantum_return(struct quantum *quantum, unsigned slot, uint64_t clock);

/*
 * Another thread woke the thread of `slot`: others wait for it, from `clock` on, although it has not returned yet. No
 * effect unless it has called quantum_leave().
 */
void quantum_wake(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The thread sleeps on the host until its clock is `clock`: others wait for it. */
void quantum_sleep(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The thread enters, or leaves, a system call that should not block; if it does block, others do not wait for it. */
void quantum_set_in_call(struct quantum *quantum, unsigned slot, bool is_in_call);

enum quantum_result {
	QUANTUM_NEAR,    /* it did not have to wait */
	QUANTUM_WAITED,  /* it waited until the slowest was near */
	QUANTUM_GAVE_UP, /* the slowest cannot come */
};

/* The thread's clock is `clock` now; wait until the slowest is near. */
enum quantum_result quantum_wait(struct quantum *quantum, unsigned slot, uint64_t clock);

/* The process ends: no thread waits from now on. */
void quantum_release_all(struct quantum *quantum);

/*
 * The least clock of the threads that others wait for, except `slot`; or QUANTUM_NONE. And the number of such threads,
 * all included.
 */
uint64_t quantum_slowest(const struct quantum *quantum, unsigned slot);
unsigned quantum_running(const struct quantum *quantum);

/* Whether the thread of `slot` is not in a call that may block, or was woken. */
bool quantum_is_running(const struct quantum *quantum, unsigned slot);

/* In the child of a fork: `slot` is the only thread. */
void quantum_fork(struct quantum *quantum, unsigned slot);

#endif
