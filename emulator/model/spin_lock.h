/*
 * spin_lock.h - a lock of one word, 0 when it is free, for what is held for some tens of nanoseconds
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_MODEL_SPIN_LOCK_H
#define DCPI_EMULATOR_MODEL_SPIN_LOCK_H

#include <sched.h>
#include <stdint.h>

#define SPINS_MAX 200 /* failed attempts before sched_yield() */

static __attribute__((noinline, unused)) void
spin_lock_wait(uint32_t *lock)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
}

static inline __attribute__((always_inline)) void
spin_lock(uint32_t *lock)
{
	if (__builtin_expect(__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE), 0))
		spin_lock_wait(lock);
}

static inline __attribute__((always_inline)) void
spin_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
