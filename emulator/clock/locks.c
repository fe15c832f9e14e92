#include "emulator/clock/locks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 1024 /* a power of two; two locks of one place forget each other */

/* A lock, with the last stretch of time in which it was taken again and again. */
struct lock {
	uint64_t address; /* 0: none */
	unsigned holder;  /* slot and one; 0: it is free */
	uint64_t taken;   /* when, by the holder */
	uint64_t from, until;
	uint64_t unused;    /* of the stretch: gaps in which others would have had it */
	uint64_t last_held; /* how long the last time */
	uint64_t late;      /* when the one before released it, when the holder has not been told that it must wait */
	unsigned contender; /* slot and one: it came while another held it, or seemed to */
	uint64_t contended; /* when */
	uint32_t zeros, others; /* that accesses left */
};

struct locks {
	pthread_mutex_t mutexes[PLACES];
	struct lock places[PLACES];
};

struct locks *
locks_new(void)
{
	struct locks *locks = calloc(1, sizeof(*locks));

	for (size_t i = 0; locks && i < PLACES; i++)
		pthread_mutex_init(&locks->mutexes[i], NULL);
	return locks;
}

void
locks_free(struct locks *locks)
{
	free(locks);
}

void
locks_fork(struct locks *locks)
{
	memset(locks->places, 0, sizeof(locks->places));
	for (size_t i = 0; i < PLACES; i++)
		pthread_mutex_init(&locks->mutexes[i], NULL);
}

/* Somebody takes it at `now`, or later when all of the stretch around is used up. */
static uint64_t
take(struct lock *lock, unsigned slot, uint64_t now)
{
	if (now >= lock->from && now < lock->until && lock->unused < lock->last_held)
		now = lock->until;
	lock->holder = slot + 1;
	lock->taken = now;
	return now;
}

/* It was held within the stretch, or from there on: gaps are used up, then the stretch gets longer. */
static void
fill(struct lock *lock, uint64_t now)
{
	const uint64_t end = now < lock->until ? now : lock->until, within = end - lock->taken;
	const uint64_t used = within < lock->unused ? within : lock->unused;

	lock->unused -= used;
	lock->until = (now > lock->until ? now : lock->until) + within - used;
}

/* A gap shorter than what it was held for joins two stretches. */
static void
release(struct lock *lock, uint64_t now)
{
	const uint64_t length = now > lock->taken ? now - lock->taken : 0;

	lock->last_held = length;
	if (lock->taken > lock->until + length) {
		lock->from = lock->taken;
		lock->until = now;
		lock->unused = 0;
	} else if (lock->taken >= lock->until) {
		lock->unused += lock->taken - lock->until;
		lock->until = now;
	} else if (lock->taken >= lock->from && length > 0) {
		fill(lock, now);
	}
	if (lock->unused > LOCKS_UNUSED_MAX)
		lock->unused = LOCKS_UNUSED_MAX;
}

/*
 * The holder lets go of it, unless this is no lock. Something else than zero there: another one has taken it since,
 * whose access was taken for one that failed.
 */
static uint64_t
let_go(struct lock *lock, uint64_t now, bool is_zero)
{
	if (!is_zero && lock->zeros < lock->others / 4)
		return now;
	if (lock->taken < lock->late) {
		now += lock->late - lock->taken;
		lock->taken = lock->late;
	}
	release(lock, now);
	lock->late = 0;
	lock->holder = 0;
	if (!is_zero && lock->contender) {
		lock->holder = lock->contender;
		lock->taken = lock->contended;
		lock->late = lock->until;
	}
	lock->contender = 0;
	return now;
}

static uint64_t
access_lock(struct lock *lock, unsigned slot, uint64_t now, bool is_zero)
{
	if (is_zero)
		lock->zeros++;
	else
		lock->others++;
	if (lock->holder == slot + 1)
		return let_go(lock, now, is_zero);
	if (is_zero) {
		lock->holder = 0;
	} else if (lock->holder == 0) {
		lock->late = 0;
		return take(lock, slot, now);
	} else {
		lock->contender = slot + 1;
		lock->contended = now;
	}
	return now;
}

uint64_t
locks_access(struct locks *locks, unsigned slot, uint64_t address, uint64_t now, bool is_zero)
{
	const size_t place = (address >> 2 ^ address >> 12) & (PLACES - 1);
	struct lock *lock = &locks->places[place];

	pthread_mutex_lock(&locks->mutexes[place]);
	if (lock->address != address)
		*lock = (struct lock){.address = address};
	now = access_lock(lock, slot, now, is_zero);
	pthread_mutex_unlock(&locks->mutexes[place]);
	return now;
}
