/*
 * skew_state.h - what the parts of skew.h share
 *
 * Thread rule: any thread; states change, and who waits is found, under the lock.
 */
#ifndef DCPI_EMULATOR_SKEW_STATE_H
#define DCPI_EMULATOR_SKEW_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "emulator/clock/skew.h"

enum slot_state {
	SLOT_FREE,
	SLOT_RUNS,
	SLOT_SLEEPS, /* until a time */
	SLOT_LEFT,
	SLOT_WOKEN, /* it runs, but has not returned */
};

/* Two lines of a cache: neighbours are fetched together. */
struct slot {
	_Alignas(128) atomic_uint_fast64_t clock;
	atomic_uint state;
	atomic_bool is_in_call;
	atomic_int thread; /* of the host; 0: not known yet */
	atomic_uint word;  /* what its host thread sleeps on */
	uint64_t wanted;   /* of the slowest; with is_waiting, under the lock */
	atomic_bool is_waiting;
};

struct skew {
	uint64_t quantum;
	unsigned host_cores;
	unsigned slot_count;
	atomic_uint highest; /* slot in use, and one */
	atomic_uint running;
	atomic_uint waiting;
	atomic_bool is_open;  /* nobody waits any more */
	pthread_mutex_t lock; /* of states and who waits */
	struct slot *slots;
};

/* The slot with the least clock, and that, of those that are waited for, but for one; NULL. */
struct slot *skew_find_slowest(const struct skew *skew, const struct slot *except, uint64_t *clock);

/* Those for whom the slowest is near now go on. Without the lock. */
void skew_wake_waiting(struct skew *skew);

/* Under the lock; then who waits for it is to be woken. */
void skew_set_state(struct skew *skew, struct slot *slot, enum slot_state state, uint64_t clock);

#endif
