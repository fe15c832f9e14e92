#include "emulator/clock/futexes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LAST_WAKES 1024 /* a power of two */

struct waiter {
	uint64_t address; /* 0: it does not wait */
	uint64_t order;   /* in which it came */
	uint64_t woken;   /* when; SKEW_NONE: not yet */
};

struct waker {
	struct futex_wake wake;
	uint64_t now;
	uint64_t taken; /* of those it wakes: returned before it did itself */
	bool is_active;
};

struct last_wake {
	uint64_t address, now;
};

struct futexes {
	struct skew *skew;
	pthread_mutex_t lock;
	unsigned slots, highest;
	uint64_t order;
	struct waiter *waiters;
	struct waker *wakers;
	struct last_wake last[LAST_WAKES];
};

struct futexes *
futexes_new(struct skew *skew, unsigned slots)
{
	struct futexes *futexes = calloc(1, sizeof(*futexes));

	if (!futexes)
		return NULL;
	futexes->waiters = calloc(slots, sizeof(*futexes->waiters));
	futexes->wakers = calloc(slots, sizeof(*futexes->wakers));
	if (!futexes->waiters || !futexes->wakers) {
		futexes_free(futexes);
		errno = ENOMEM;
		return NULL;
	}
	futexes->skew = skew;
	futexes->slots = slots;
	pthread_mutex_init(&futexes->lock, NULL);
	return futexes;
}

void
futexes_free(struct futexes *futexes)
{
	if (!futexes)
		return;
	free(futexes->waiters);
	free(futexes->wakers);
	free(futexes);
}

static void
use_slot(struct futexes *futexes, unsigned slot)
{
	if (futexes->highest <= slot)
		futexes->highest = slot + 1;
}

void
futexes_wait(struct futexes *futexes, unsigned slot, uint64_t address)
{
	pthread_mutex_lock(&futexes->lock);
	use_slot(futexes, slot);
	futexes->waiters[slot] = (struct waiter){.address = address, .order = ++futexes->order, .woken = SKEW_NONE};
	pthread_mutex_unlock(&futexes->lock);
}

static struct last_wake *
last_wake_at(struct futexes *futexes, uint64_t address)
{
	return &futexes->last[((address >> 2) * UINT64_C(0x9e3779b97f4a7c15)) >> 54 & (LAST_WAKES - 1)];
}

/* Of those that are waking right now, one whose turn this waiter may be. */
static struct waker *
find_waker(struct futexes *futexes, uint64_t address)
{
	for (unsigned i = 0; i < futexes->highest; i++) {
		struct waker *waker = &futexes->wakers[i];

		if (!waker->is_active)
			continue;
		if (waker->wake.address == address && waker->taken < waker->wake.count)
			return waker;
		if (waker->wake.other == address && !waker->wake.moves)
			return waker;
	}
	return NULL;
}

/* Another one that waits at the address and was thought to be woken; NULL. */
static struct waiter *
find_mistaken(struct futexes *futexes, uint64_t address)
{
	for (unsigned i = 0; i < futexes->highest; i++)
		if (futexes->waiters[i].address == address && futexes->waiters[i].woken != SKEW_NONE)
			return &futexes->waiters[i];
	return NULL;
}

static uint64_t
find_wake(struct futexes *futexes, struct waiter *waiter)
{
	const struct last_wake *last = last_wake_at(futexes, waiter->address);
	struct waiter *mistaken;
	struct waker *waker;
	uint64_t woken = waiter->woken;

	if (woken != SKEW_NONE)
		return woken;
	waker = find_waker(futexes, waiter->address);
	if (waker) {
		waker->taken++;
		return waker->now;
	}
	mistaken = find_mistaken(futexes, waiter->address);
	if (mistaken) {
		woken = mistaken->woken;
		mistaken->woken = SKEW_NONE;
		skew_leave(futexes->skew, (unsigned)(mistaken - futexes->waiters));
		return woken;
	}
	return last->address == waiter->address ? last->now : SKEW_NONE;
}

uint64_t
futexes_waited(struct futexes *futexes, unsigned slot, bool was_woken)
{
	struct waiter *waiter = &futexes->waiters[slot];
	uint64_t woken = SKEW_NONE;

	pthread_mutex_lock(&futexes->lock);
	if (was_woken)
		woken = find_wake(futexes, waiter);
	waiter->address = 0;
	pthread_mutex_unlock(&futexes->lock);
	return woken;
}

uint64_t
futexes_last_wake(struct futexes *futexes, uint64_t address)
{
	const struct last_wake *last = last_wake_at(futexes, address);
	uint64_t woken;

	pthread_mutex_lock(&futexes->lock);
	woken = last->address == address ? last->now : SKEW_NONE;
	pthread_mutex_unlock(&futexes->lock);
	return woken;
}

void
futexes_wake(struct futexes *futexes, unsigned slot, const struct futex_wake *wake, uint64_t now)
{
	struct last_wake *last = last_wake_at(futexes, wake->address);

	pthread_mutex_lock(&futexes->lock);
	use_slot(futexes, slot);
	futexes->wakers[slot] = (struct waker){.wake = *wake, .now = now, .is_active = true};
	*last = (struct last_wake){wake->address, now};
	pthread_mutex_unlock(&futexes->lock);
}

/* Who has waited longest at the address and is not woken; NULL. */
static struct waiter *
find_first(struct futexes *futexes, uint64_t address)
{
	struct waiter *first = NULL;

	for (unsigned i = 0; i < futexes->highest; i++) {
		struct waiter *waiter = &futexes->waiters[i];

		if (waiter->address == address && waiter->woken == SKEW_NONE &&
		    (!first || waiter->order < first->order))
			first = waiter;
	}
	return first;
}

static uint64_t
wake_some(struct futexes *futexes, uint64_t address, uint64_t count, uint64_t now)
{
	struct waiter *first;
	uint64_t woken = 0;

	while (woken < count && (first = find_first(futexes, address))) {
		first->woken = now;
		skew_wake(futexes->skew, (unsigned)(first - futexes->waiters), now);
		woken++;
	}
	return woken;
}

static void
move_some(struct futexes *futexes, const struct futex_wake *wake, uint64_t count)
{
	struct waiter *first;

	while (count-- > 0 && (first = find_first(futexes, wake->address)))
		first->address = wake->other;
}

void
futexes_woke(struct futexes *futexes, unsigned slot, int64_t result)
{
	struct waker *waker = &futexes->wakers[slot];

	pthread_mutex_lock(&futexes->lock);
	if (waker->is_active && result > 0 && (uint64_t)result > waker->taken) {
		const uint64_t left = (uint64_t)result - waker->taken;
		const uint64_t room = waker->wake.count > waker->taken ? waker->wake.count - waker->taken : 0;
		const uint64_t woken = wake_some(futexes, waker->wake.address, left < room ? left : room, waker->now);

		if (waker->wake.other && waker->wake.moves)
			move_some(futexes, &waker->wake, left - woken);
		else if (waker->wake.other)
			wake_some(futexes, waker->wake.other, left - woken, waker->now);
	}
	waker->is_active = false;
	pthread_mutex_unlock(&futexes->lock);
}

void
futexes_fork(struct futexes *futexes)
{
	pthread_mutex_init(&futexes->lock, NULL);
	memset(futexes->waiters, 0, futexes->slots * sizeof(*futexes->waiters));
	memset(futexes->wakers, 0, futexes->slots * sizeof(*futexes->wakers));
	futexes->highest = 0;
}
