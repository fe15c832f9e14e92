#include "emulator/clock/skew.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator/clock/host_thread.h"

#define SPIN_NS       20000
#define LOOK_NS       1000000 /* until the slowest thread is looked at */
#define UNBOUND_LOOKS 1000    /* at a thread that never began, until nobody waits for it */
#define STUCK_LOOKS   1000    /* at one that sleeps, while others run */
#define SLEEP_LOOKS   100     /* at one that sleeps: somebody may need us to leave meanwhile */

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

/* The slot with the least clock of those that are waited for, but for one; NULL. */
static struct slot *
find_slowest(const struct skew *skew, const struct slot *except, uint64_t *clock)
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

	find_slowest(skew, &skew->slots[slot], &clock);
	return clock;
}

unsigned
skew_running(const struct skew *skew)
{
	return atomic_load(&skew->running);
}

/* Those for whom the slowest is near now go on. */
static void
wake_waiting(struct skew *skew)
{
	const unsigned highest = atomic_load(&skew->highest);
	uint64_t clock;

	if (atomic_load(&skew->waiting) == 0)
		return;
	pthread_mutex_lock(&skew->lock);
	find_slowest(skew, NULL, &clock);
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

static void
set_state(struct skew *skew, struct slot *slot, enum slot_state state, uint64_t clock)
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
	set_state(skew, slot, state, clock);
	pthread_mutex_unlock(&skew->lock);
	wake_waiting(skew);
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
	change_state(skew, &skew->slots[slot], SLOT_FREE, 0);
}

void
skew_leave(struct skew *skew, unsigned slot)
{
	change_state(skew, &skew->slots[slot], SLOT_LEFT, atomic_load(&skew->slots[slot].clock));
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
		set_state(skew, woken, SLOT_WOKEN, clock);
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

static bool
is_near(const struct skew *skew, const struct slot *slot, uint64_t clock)
{
	uint64_t slowest;

	if (atomic_load(&skew->is_open))
		return true;
	find_slowest(skew, slot, &slowest);
	return slowest >= clock || clock - slowest <= skew->quantum;
}

/* Where a core is left for the others, the slowest is met sooner by looking than by being woken. */
static bool
spin(const struct skew *skew, const struct slot *slot, uint64_t clock)
{
	const uint64_t end = host_now_ns() + SPIN_NS;

	do {
		if (atomic_load(&skew->running) > skew->host_cores)
			return false;
		if (is_near(skew, slot, clock))
			return true;
		for (unsigned i = 0; i < 32; i++)
			host_pause();
	} while (host_now_ns() < end);
	return false;
}

/* It is thought to run and sleeps: in a call that was not thought to block, or not back from one though it was woken.
 */
static bool
is_mistaken(struct skew *skew, struct slot *slot, uint64_t clock)
{
	const unsigned state = atomic_load(&slot->state);
	bool is_changed = false;

	if (state != SLOT_WOKEN && !atomic_load(&slot->is_in_call))
		return false;
	pthread_mutex_lock(&skew->lock);
	if (atomic_load(&slot->state) == state && atomic_load(&slot->clock) == clock) {
		set_state(skew, slot, SLOT_LEFT, clock);
		is_changed = true;
	}
	pthread_mutex_unlock(&skew->lock);
	if (is_changed)
		wake_waiting(skew);
	return true;
}

/*
 * No thread executes anything, or is about to: those that do not wait here all sleep. One of them waits in the emulator
 * for the others to leave their blocks.
 */
static bool
is_stuck(const struct skew *skew)
{
	const unsigned highest = atomic_load(&skew->highest);

	for (unsigned i = 0; i < highest; i++) {
		const struct slot *slot = &skew->slots[i];
		const int thread = atomic_load(&slot->thread);

		if (atomic_load(&slot->state) == SLOT_RUNS && !atomic_load(&slot->is_waiting) &&
		    (thread == 0 || !host_thread_sleeps(thread)))
			return false;
	}
	return true;
}

/*
 * Nobody came for a while: is the slowest on its way? One that is ready to run is, however long the host lets it wait.
 * One that sleeps may be waiting for a lock of the emulator's, whose owner runs; if nobody does, it needs us to leave.
 */
static bool
can_come(struct skew *skew, const struct slot *except, unsigned looks)
{
	uint64_t clock;
	struct slot *slowest = find_slowest(skew, except, &clock);
	const int thread = slowest ? atomic_load(&slowest->thread) : 0;

	if (!slowest)
		return true;
	if (atomic_load(&slowest->state) == SLOT_SLEEPS)
		return looks < SLEEP_LOOKS;
	if (thread == 0)
		return looks < UNBOUND_LOOKS;
	if (looks < 2 || !host_thread_sleeps(thread) || is_mistaken(skew, slowest, clock))
		return true;
	return looks < STUCK_LOOKS && !is_stuck(skew);
}

static void
stop_waiting(struct skew *skew, struct slot *slot)
{
	pthread_mutex_lock(&skew->lock);
	if (atomic_load(&slot->is_waiting)) {
		atomic_store(&slot->is_waiting, false);
		atomic_fetch_sub(&skew->waiting, 1);
	}
	pthread_mutex_unlock(&skew->lock);
}

static enum skew_wait
wait_for_slowest(struct skew *skew, struct slot *slot, uint64_t clock)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};

	for (unsigned looks = 0;; looks++) {
		const unsigned word = atomic_load(&slot->word);

		pthread_mutex_lock(&skew->lock);
		if (!atomic_load(&slot->is_waiting)) {
			slot->wanted = clock - skew->quantum;
			atomic_store(&slot->is_waiting, true);
			atomic_fetch_add(&skew->waiting, 1);
		}
		pthread_mutex_unlock(&skew->lock);
		if (is_near(skew, slot, clock))
			break;
		if (syscall(SYS_futex, &slot->word, FUTEX_WAIT_PRIVATE, word, &look, NULL, 0) == 0)
			continue;
		if (errno == ETIMEDOUT && !can_come(skew, slot, looks)) {
			stop_waiting(skew, slot);
			return SKEW_GAVE_UP;
		}
	}
	stop_waiting(skew, slot);
	return SKEW_WAITED;
}

enum skew_wait
skew_reach(struct skew *skew, unsigned slot, uint64_t clock)
{
	struct slot *own = &skew->slots[slot];

	atomic_store(&own->clock, clock);
	wake_waiting(skew);
	if (skew->quantum == 0 || is_near(skew, own, clock))
		return SKEW_NEAR;
	if (spin(skew, own, clock))
		return SKEW_WAITED;
	return wait_for_slowest(skew, own, clock);
}

void
skew_open(struct skew *skew)
{
	atomic_store(&skew->is_open, true);
	wake_waiting(skew);
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
