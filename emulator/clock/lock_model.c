#include "emulator/clock/lock_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS 1024 /* a power of two; of two locks with one entry the last one accessed is known */

struct modelled_lock {
	uint64_t address;    /* 0: none */
	unsigned holder;     /* slot and one; 0: it is free */
	uint64_t taken;      /* when, by the holder */
	uint64_t from, till; /* the last busy period */
	uint64_t unused;     /* cycles of gaps in it in which other threads would have had the lock */
	uint64_t last_held;  /* length of the last hold */
	uint64_t late;       /* when the previous holder released it; the holder waits until then at its own release */
	unsigned contender;  /* slot and one: its access found the lock held, or seemed to */
	uint64_t contended;  /* when */
	uint32_t zeros, others; /* values that accesses left */
};

struct lock_model {
	pthread_mutex_t mutexes[LOCKS];
	struct modelled_lock locks[LOCKS];
};

struct lock_model *
lock_model_new(void)
{
	struct lock_model *model = calloc(1, sizeof(*model));

	for (size_t i = 0; model && i < LOCKS; i++)
		pthread_mutex_init(&model->mutexes[i], NULL);
	return model;
}

void
lock_model_free(struct lock_model *model)
{
	free(model);
}

/* The hold that ends at `now` began within the busy period: it uses up gaps, then extends the period. */
static void
extend_period(struct modelled_lock *lock, uint64_t now)
{
	const uint64_t end = now < lock->till ? now : lock->till, within = end - lock->taken;
	const uint64_t used = within < lock->unused ? within : lock->unused;

	lock->unused -= used;
	lock->till = (now > lock->till ? now : lock->till) + within - used;
}

/* A hold ends at `now`: add it to the busy period. A gap shorter than the hold joins it to the period before. */
static void
add_hold(struct modelled_lock *lock, uint64_t now)
{
	const uint64_t length = now > lock->taken ? now - lock->taken : 0;

	lock->last_held = length;
	if (lock->taken > lock->till + length) {
		lock->from = lock->taken;
		lock->till = now;
		lock->unused = 0;
	} else if (lock->taken >= lock->till) {
		lock->unused += lock->taken - lock->till;
		lock->till = now;
	} else if (lock->taken >= lock->from && length > 0) {
		extend_period(lock, now);
	}
	if (lock->unused > LOCK_MODEL_UNUSED_MAX)
		lock->unused = LOCK_MODEL_UNUSED_MAX;
}

/*
 * The holder accesses the lock again and so releases it, unless this is no lock. A value other than zero: another
 * thread has taken the lock since, whose access was thought to have failed.
 */
static uint64_t
release(struct modelled_lock *lock, uint64_t now, bool is_zero)
{
	if (!is_zero && lock->zeros < lock->others / 4)
		return now;
	if (lock->taken < lock->late) {
		now += lock->late - lock->taken;
		lock->taken = lock->late;
	}
	add_hold(lock, now);
	lock->late = 0;
	lock->holder = 0;
	if (!is_zero && lock->contender) {
		lock->holder = lock->contender;
		lock->taken = lock->contended;
		lock->late = lock->till;
	}
	lock->contender = 0;
	return now;
}

static uint64_t
access_lock(struct modelled_lock *lock, unsigned slot, uint64_t now, bool is_zero)
{
	if (is_zero)
		lock->zeros++;
	else
		lock->others++;
	if (lock->holder == slot + 1)
		return release(lock, now, is_zero);
	if (is_zero) {
		lock->holder = 0;
		return now;
	}
	if (lock->holder != 0) {
		lock->contender = slot + 1;
		lock->contended = now;
		return now;
	}
	if (now >= lock->from && now < lock->till && lock->unused < lock->last_held)
		now = lock->till; /* the busy period has no gap left */
	lock->late = 0;
	lock->holder = slot + 1;
	lock->taken = now;
	return now;
}

uint64_t
lock_model_access(struct lock_model *model, unsigned slot, uint64_t address, uint64_t now, bool is_zero)
{
	const size_t index = (address >> 2 ^ address >> 12) & (LOCKS - 1);
	struct modelled_lock *lock = &model->locks[index];

	pthread_mutex_lock(&model->mutexes[index]);
	if (lock->address != address)
		*lock = (struct modelled_lock){.address = address};
	now = access_lock(lock, slot, now, is_zero);
	pthread_mutex_unlock(&model->mutexes[index]);
	return now;
}

void
lock_model_fork(struct lock_model *model)
{
	memset(model->locks, 0, sizeof(model->locks));
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&model->mutexes[i], NULL);
}
