#include "emulator/clock/skew.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulator/clock/skew_state.h"

struct skew *
skew_new(unsigned slots, uint64_t quantum, unsigned host_cores)
{
	struct skew *skew = calloc(1, sizeof(*skew));

	if (!skew)
		return NULL;
	skew->slots = aligned_alloc(_Alignof(struct slot), slots * sizeof(struct slot));
	if (!skew->slots) {
		free(skew);
		return NULL;
	}
	for (unsigned i = 0; i < slots; i++)
		skew->slots[i] = (struct slot){.state = SLOT_FREE};
	skew->slot_count = slots;
	skew->quantum = quantum;
	skew->host_cores = host_cores;
	pthread_mutex_init(&skew->lock, NULL);
	return skew;
}

void
skew_free(struct skew *skew)
{
	if (!skew)
		return;
	pthread_mutex_destroy(&skew->lock);
	free(skew->slots);
	free(skew);
}

static bool
is_waited_for(unsigned state)
{
	return state == SLOT_RUNS || state == SLOT_SLEEPS || state == SLOT_WOKEN;
}

struct slot *
skew_find_slowest(const struct skew *skew, const struct slot *except, uint64_t *clock)
{
	const unsigned highest = atomic_load(&skew->highest);
	struct slot *slowest = NULL;

	*clock = SKEW_NONE;
	for (unsigned i = 0; i < highest; i++) {
		struct slot *slot = &skew->slots[i];
		uint64_t theirs;

		if (slot == except || !is_waited_for(atomic_load(&slot->state)))
			continue;
		theirs = atomic_load(&slot->clock);
		if (theirs < *clock) {
			*clock = theirs;
			slowest = slot;
		}
	}
	return slowest;
}

uint64_t
skew_slowest(const struct skew *skew, unsigned slot)
{
	uint64_t clock;

	skew_find_slowest(skew, &skew->slots[slot], &clock);
	return clock;
}

unsigned
skew_running(const struct skew *skew)
{
	return atomic_load(&skew->running);
}

void
skew_wake_waiting(struct skew *skew)
{
	const unsigned highest = atomic_load(&skew->highest);
	uint64_t clock;

	if (atomic_load(&skew->waiting) == 0)
		return;
	pthread_mutex_lock(&skew->lock);
	skew_find_slowest(skew, NULL, &clock);
	for (unsigned i = 0; i < highest; i++) {
		struct slot *slot = &skew->slots[i];

		if (!atomic_load(&slot->is_waiting) || (slot->wanted > clock && !atomic_load(&skew->is_open)))
			continue;
		atomic_store(&slot->is_waiting, false);
		atomic_fetch_sub(&skew->waiting, 1);
		atomic_fetch_add(&slot->word, 1);
		(void)syscall(SYS_futex, &slot->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_mutex_unlock(&skew->lock);
}

void
skew_set_state(struct skew *skew, struct slot *slot, enum slot_state state, uint64_t clock)
{
	const bool was = is_waited_for(atomic_load(&slot->state)), is = is_waited_for(state);

	atomic_store(&slot->clock, clock);
	atomic_store(&slot->state, state);
	if (is && !was)
		atomic_fetch_add(&skew->running, 1);
	else if (was && !is)
		atomic_fetch_sub(&skew->running, 1);
}

static void
change_state(struct skew *skew, struct slot *slot, enum slot_state state, uint64_t clock)
{
	pthread_mutex_lock(&skew->lock);
	skew_set_state(skew, slot, state, clock);
	pthread_mutex_unlock(&skew->lock);
	skew_wake_waiting(skew);
}

/* With the clock that it has, not with 0: one that looks meanwhile would find a thread that runs and is far behind. */
static void
stop_running(struct skew *skew, struct slot *slot, enum slot_state state)
{
	pthread_mutex_lock(&skew->lock);
	skew_set_state(skew, slot, state, atomic_load(&slot->clock));
	pthread_mutex_unlock(&skew->lock);
	skew_wake_waiting(skew);
}

void
skew_begin(struct skew *skew, unsigned slot, uint64_t clock)
{
	atomic_store(&skew->slots[slot].thread, 0);
	atomic_store(&skew->slots[slot].is_in_call, false);
	pthread_mutex_lock(&skew->lock);
	if (atomic_load(&skew->highest) <= slot)
		atomic_store(&skew->highest, slot + 1);
	pthread_mutex_unlock(&skew->lock);
	change_state(skew, &skew->slots[slot], SLOT_RUNS, clock);
}

void
skew_bind(struct skew *skew, unsigned slot)
{
	if (atomic_load_explicit(&skew->slots[slot].thread, memory_order_relaxed) == 0)
		atomic_store(&skew->slots[slot].thread, (int)syscall(SYS_gettid));
}

void
skew_end(struct skew *skew, unsigned slot)
{
	stop_running(skew, &skew->slots[slot], SLOT_FREE);
}

void
skew_leave(struct skew *skew, unsigned slot)
{
	stop_running(skew, &skew->slots[slot], SLOT_LEFT);
}

void
skew_return(struct skew *skew, unsigned slot, uint64_t clock)
{
	change_state(skew, &skew->slots[slot], SLOT_RUNS, clock);
}

void
skew_wake(struct skew *skew, unsigned slot, uint64_t clock)
{
	struct slot *woken = &skew->slots[slot];

	pthread_mutex_lock(&skew->lock);
	if (atomic_load(&woken->state) == SLOT_LEFT)
		skew_set_state(skew, woken, SLOT_WOKEN, clock);
	pthread_mutex_unlock(&skew->lock);
}

void
skew_sleep(struct skew *skew, unsigned slot, uint64_t clock)
{
	change_state(skew, &skew->slots[slot], SLOT_SLEEPS, clock);
}

void
skew_call(struct skew *skew, unsigned slot, bool is_in_call)
{
	atomic_store(&skew->slots[slot].is_in_call, is_in_call);
}

void
skew_open(struct skew *skew)
{
	atomic_store(&skew->is_open, true);
	skew_wake_waiting(skew);
}

void
skew_fork(struct skew *skew, unsigned slot)
{
	const uint64_t clock = atomic_load(&skew->slots[slot].clock);

	pthread_mutex_init(&skew->lock, NULL); /* another thread may have held it */
	for (unsigned i = 0; i < skew->slot_count; i++)
		skew->slots[i] = (struct slot){.state = SLOT_FREE};
	atomic_store(&skew->running, 0);
	atomic_store(&skew->waiting, 0);
	skew_begin(skew, slot, clock);
	skew_bind(skew, slot);
}
