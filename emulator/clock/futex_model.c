#include "emulator/clock/futex_model.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LAST_WAKES 1024 /* a power of two */

struct futex_waiter {
	uint64_t address; /* 0: it does not wait */
	uint64_t order;   /* in which waiters came */
	uint64_t woken;   /* when; QUANTUM_NONE: not yet */
};

struct futex_waker {
	struct futex_wake wake;
	uint64_t now;
	uint64_t taken; /* waiters that it woke and that returned before its own call did */
	bool is_active;
};

struct futex_last_wake {
	uint64_t address, now;
};

struct futex_model {
	struct quantum *quantum;
	pthread_mutex_t lock;
	unsigned slots, highest;
	uint64_t order;
	struct futex_waiter *waiters;
	struct futex_waker *wakers;
	struct futex_last_wake last[LAST_WAKES];
};

struct futex_model *
futex_model_new(struct quantum *quantum, unsigned slots)
{
	struct futex_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->waiters = calloc(slots, sizeof(*model->waiters));
	model->wakers = calloc(slots, sizeof(*model->wakers));
	if (!model->waiters || !model->wakers) {
		futex_model_free(model);
		errno = ENOMEM;
		return NULL;
	}
	model->quantum = quantum;
	model->slots = slots;
	pthread_mutex_init(&model->lock, NULL);
	return model;
}

void
futex_model_free(struct futex_model *model)
{
	if (!model)
		return;
	free(model->waiters);
	free(model->wakers);
	free(model);
}

static void
use_slot(struct futex_model *model, unsigned slot)
{
	if (model->highest <= slot)
		model->highest = slot + 1;
}

void
futex_model_wait_begin(struct futex_model *model, unsigned slot, uint64_t address)
{
	pthread_mutex_lock(&model->lock);
	use_slot(model, slot);
	model->waiters[slot] =
		(struct futex_waiter){.address = address, .order = ++model->order, .woken = QUANTUM_NONE};
	pthread_mutex_unlock(&model->lock);
}

static struct futex_last_wake *
last_wake_at(struct futex_model *model, uint64_t address)
{
	return &model->last[((address >> 2) * UINT64_C(0x9e3779b97f4a7c15)) >> 54 & (LAST_WAKES - 1)];
}

/* A thread whose wake call has not returned yet and that may have woken a waiter of this address; NULL. */
static struct futex_waker *
find_waker(struct futex_model *model, uint64_t address)
{
	for (unsigned i = 0; i < model->highest; i++) {
		struct futex_waker *waker = &model->wakers[i];

		if (!waker->is_active)
			continue;
		if (waker->wake.address == address && waker->taken < waker->wake.count)
			return waker;
		if (waker->wake.other == address && !waker->wake.moves)
			return waker;
	}
	return NULL;
}

/* Another waiter of the address that this model has woken, while the host has not; NULL. */
static struct futex_waiter *
find_mistaken(struct futex_model *model, uint64_t address)
{
	for (unsigned i = 0; i < model->highest; i++)
		if (model->waiters[i].address == address && model->waiters[i].woken != QUANTUM_NONE)
			return &model->waiters[i];
	return NULL;
}

static uint64_t
find_wake(struct futex_model *model, struct futex_waiter *waiter)
{
	const struct futex_last_wake *last = last_wake_at(model, waiter->address);
	struct futex_waiter *mistaken;
	struct futex_waker *waker;
	uint64_t woken = waiter->woken;

	if (woken != QUANTUM_NONE)
		return woken;
	waker = find_waker(model, waiter->address);
	if (waker) {
		waker->taken++;
		return waker->now;
	}
	mistaken = find_mistaken(model, waiter->address);
	if (mistaken) {
		woken = mistaken->woken;
		mistaken->woken = QUANTUM_NONE;
		quantum_leave(model->quantum, (unsigned)(mistaken - model->waiters));
		return woken;
	}
	return last->address == waiter->address ? last->now : QUANTUM_NONE;
}

uint64_t
futex_model_wait_end(struct futex_model *model, unsigned slot, bool was_woken)
{
	struct futex_waiter *waiter = &model->waiters[slot];
	uint64_t woken = QUANTUM_NONE;

	pthread_mutex_lock(&model->lock);
	if (was_woken)
		woken = find_wake(model, waiter);
	waiter->address = 0;
	pthread_mutex_unlock(&model->lock);
	return woken;
}

uint64_t
futex_model_last_wake(struct futex_model *model, uint64_t address)
{
	const struct futex_last_wake *last = last_wake_at(model, address);
	uint64_t woken;

	pthread_mutex_lock(&model->lock);
	woken = last->address == address ? last->now : QUANTUM_NONE;
	pthread_mutex_unlock(&model->lock);
	return woken;
}

void
futex_model_wake_begin(struct futex_model *model, unsigned slot, const struct futex_wake *wake, uint64_t now)
{
	struct futex_last_wake *last = last_wake_at(model, wake->address);

	pthread_mutex_lock(&model->lock);
	use_slot(model, slot);
	model->wakers[slot] = (struct futex_waker){.wake = *wake, .now = now, .is_active = true};
	*last = (struct futex_last_wake){wake->address, now};
	pthread_mutex_unlock(&model->lock);
}

/* The thread that has waited longest at the address and is not woken; NULL. */
static struct futex_waiter *
find_first(struct futex_model *model, uint64_t address)
{
	struct futex_waiter *first = NULL;

	for (unsigned i = 0; i < model->highest; i++) {
		struct futex_waiter *waiter = &model->waiters[i];

		if (waiter->address == address && waiter->woken == QUANTUM_NONE &&
		    (!first || waiter->order < first->order))
			first = waiter;
	}
	return first;
}

static uint64_t
wake_some(struct futex_model *model, uint64_t address, uint64_t count, uint64_t now)
{
	struct futex_waiter *first;
	uint64_t woken = 0;

	while (woken < count && (first = find_first(model, address))) {
		first->woken = now;
		quantum_wake(model->quantum, (unsigned)(first - model->waiters), now);
		woken++;
	}
	return woken;
}

void
futex_model_wake_end(struct futex_model *model, unsigned slot, int64_t result)
{
	struct futex_waker *waker = &model->wakers[slot];
	struct futex_waiter *first;

	pthread_mutex_lock(&model->lock);
	if (waker->is_active && result > 0 && (uint64_t)result > waker->taken) {
		uint64_t left = (uint64_t)result - waker->taken;
		const uint64_t room = waker->wake.count > waker->taken ? waker->wake.count - waker->taken : 0;
		const uint64_t woken = wake_some(model, waker->wake.address, left < room ? left : room, waker->now);

		left -= woken;
		if (waker->wake.other && !waker->wake.moves)
			wake_some(model, waker->wake.other, left, waker->now);
		while (waker->wake.other && waker->wake.moves && left-- > 0 &&
		       (first = find_first(model, waker->wake.address)))
			first->address = waker->wake.other;
	}
	waker->is_active = false;
	pthread_mutex_unlock(&model->lock);
}

void
futex_model_fork(struct futex_model *model)
{
	pthread_mutex_init(&model->lock, NULL);
	memset(model->waiters, 0, model->slots * sizeof(*model->waiters));
	memset(model->wakers, 0, model->slots * sizeof(*model->wakers));
	model->highest = 0;
}
