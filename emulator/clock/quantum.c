#include "emulator/clock/quantum.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulator/clock/host_thread.h"

#define SPIN_NS       20000
#define LOOK_NS       1000000 /* of sleep between two looks at the slowest thread */
#define UNBOUND_LOOKS 1000    /* at a thread that has not called quantum_bind(), before giving up */
#define STUCK_LOOKS   1000    /* at one that sleeps on the host, while others run */
#define SLEEP_LOOKS   100 /* at one in quantum_sleep(): somebody may need this thread to leave its block meanwhile */

enum slot_state {
	SLOT_FREE,
	SLOT_RUNS,
	SLOT_SLEEPS, /* until a time */
	SLOT_LEAVES, /* for a call in which nobody has seen it sleep yet */
	SLOT_LEFT,
	SLOT_WOKEN, /* it runs, but has not returned */
};

/* Two cache lines: the host's prefetcher fetches lines in pairs. */
struct quantum_slot {
	_Alignas(128) atomic_uint_fast64_t clock;
	atomic_uint state; /* set under the lock */
	atomic_bool is_in_call;
	atomic_int thread; /* of the host; 0: not bound yet */
	atomic_uint word;  /* futex that its host thread sleeps on */
	uint64_t wanted;   /* clock of the slowest that it waits for; with is_waiting, under the lock */
	atomic_bool is_waiting;
};

struct quantum {
	uint64_t cycles;
	unsigned host_cores;
	unsigned slot_count;
	atomic_uint highest; /* slot in use, and one */
	atomic_uint running;
	atomic_uint waiting;
	atomic_bool is_open;  /* after quantum_release_all() */
	pthread_mutex_t lock; /* of states, and of which slots wait */
	struct quantum_slot *slots;
};

struct quantum *
quantum_new(unsigned slots, uint64_t cycles, unsigned host_cores)
{
	struct quantum *quantum = calloc(1, sizeof(*quantum));

	if (!quantum)
		return NULL;
	quantum->slots = aligned_alloc(_Alignof(struct quantum_slot), slots * sizeof(struct quantum_slot));
	if (!quantum->slots) {
		free(quantum);
		return NULL;
	}
	for (unsigned i = 0; i < slots; i++)
		quantum->slots[i] = (struct quantum_slot){.state = SLOT_FREE};
	quantum->slot_count = slots;
	quantum->cycles = cycles;
	quantum->host_cores = host_cores;
	pthread_mutex_init(&quantum->lock, NULL);
	return quantum;
}

void
quantum_free(struct quantum *quantum)
{
	if (!quantum)
		return;
	pthread_mutex_destroy(&quantum->lock);
	free(quantum->slots);
	free(quantum);
}

static bool
is_waited_for(unsigned state)
{
	return state == SLOT_RUNS || state == SLOT_SLEEPS || state == SLOT_WOKEN;
}

/* The slot with the least clock, and that clock, of those that are waited for, but for `except`; NULL. */
static struct quantum_slot *
find_slowest(const struct quantum *quantum, const struct quantum_slot *except, uint64_t *clock)
{
	const unsigned highest = atomic_load(&quantum->highest);
	struct quantum_slot *slowest = NULL;

	*clock = QUANTUM_NONE;
	for (unsigned i = 0; i < highest; i++) {
		struct quantum_slot *slot = &quantum->slots[i];
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
quantum_slowest(const struct quantum *quantum, unsigned slot)
{
	uint64_t clock;

	find_slowest(quantum, &quantum->slots[slot], &clock);
	return clock;
}

unsigned
quantum_running(const struct quantum *quantum)
{
	return atomic_load(&quantum->running);
}

bool
quantum_is_running(const struct quantum *quantum, unsigned slot)
{
	const unsigned state = atomic_load(&quantum->slots[slot].state);

	return state == SLOT_RUNS || state == SLOT_WOKEN;
}

/* Under the lock. */
static void
clear_waiting(struct quantum *quantum, struct quantum_slot *slot)
{
	atomic_store(&slot->is_waiting, false);
	atomic_fetch_sub(&quantum->waiting, 1);
}

/* Wake the threads for which the slowest is near now. Takes the lock. */
static void
wake_waiting(struct quantum *quantum)
{
	const unsigned highest = atomic_load(&quantum->highest);
	uint64_t clock;

	if (atomic_load(&quantum->waiting) == 0)
		return;
	pthread_mutex_lock(&quantum->lock);
	find_slowest(quantum, NULL, &clock);
	for (unsigned i = 0; i < highest; i++) {
		struct quantum_slot *slot = &quantum->slots[i];

		if (!atomic_load(&slot->is_waiting) || (slot->wanted > clock && !atomic_load(&quantum->is_open)))
			continue;
		clear_waiting(quantum, slot);
		atomic_fetch_add(&slot->word, 1);
		(void)syscall(SYS_futex, &slot->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_mutex_unlock(&quantum->lock);
}

/* Under the lock; wake_waiting() is to follow when the slot is not waited for any more, or its clock advanced. */
static void
set_state(struct quantum *quantum, struct quantum_slot *slot, enum slot_state state, uint64_t clock)
{
	const bool was = is_waited_for(atomic_load(&slot->state)), is = is_waited_for(state);

	atomic_store(&slot->clock, clock);
	atomic_store(&slot->state, state);
	if (is && !was)
		atomic_fetch_add(&quantum->running, 1);
	else if (was && !is)
		atomic_fetch_sub(&quantum->running, 1);
}

static void
change_state(struct quantum *quantum, struct quantum_slot *slot, enum slot_state state, uint64_t clock)
{
	pthread_mutex_lock(&quantum->lock);
	set_state(quantum, slot, state, clock);
	pthread_mutex_unlock(&quantum->lock);
	wake_waiting(quantum);
}

/* The slot keeps its clock: with 0, a thread that looks meanwhile would find one that runs and is far behind. */
static void
stop_running(struct quantum *quantum, struct quantum_slot *slot, enum slot_state state)
{
	pthread_mutex_lock(&quantum->lock);
	set_state(quantum, slot, state, atomic_load(&slot->clock));
	pthread_mutex_unlock(&quantum->lock);
	wake_waiting(quantum);
}

void
quantum_begin(struct quantum *quantum, unsigned slot, uint64_t clock)
{
	atomic_store(&quantum->slots[slot].thread, 0);
	atomic_store(&quantum->slots[slot].is_in_call, false);
	pthread_mutex_lock(&quantum->lock);
	if (atomic_load(&quantum->highest) <= slot)
		atomic_store(&quantum->highest, slot + 1);
	pthread_mutex_unlock(&quantum->lock);
	change_state(quantum, &quantum->slots[slot], SLOT_RUNS, clock);
}

void
quantum_bind(struct quantum *quantum, unsigned slot)
{
	if (atomic_load_explicit(&quantum->slots[slot].thread, memory_order_relaxed) == 0)
		atomic_store(&quantum->slots[slot].thread, (int)syscall(SYS_gettid));
}

void
quantum_end(struct quantum *quantum, unsigned slot)
{
	stop_running(quantum, &quantum->slots[slot], SLOT_FREE);
}

void
quantum_leave(struct quantum *quantum, unsigned slot)
{
	stop_running(quantum, &quantum->slots[slot], SLOT_LEAVES);
}

void
quantum_return(struct quantum *quantum, unsigned slot, uint64_t clock)
{
	change_state(quantum, &quantum->slots[slot], SLOT_RUNS, clock);
}

void
quantum_wake(struct quantum *quantum, unsigned slot, uint64_t clock)
{
	struct quantum_slot *woken = &quantum->slots[slot];
	unsigned state;

	pthread_mutex_lock(&quantum->lock);
	state = atomic_load(&woken->state);
	if (state == SLOT_LEAVES || state == SLOT_LEFT)
		set_state(quantum, woken, SLOT_WOKEN, clock);
	pthread_mutex_unlock(&quantum->lock);
}

void
quantum_sleep(struct quantum *quantum, unsigned slot, uint64_t clock)
{
	change_state(quantum, &quantum->slots[slot], SLOT_SLEEPS, clock);
}

void
quantum_set_in_call(struct quantum *quantum, unsigned slot, bool is_in_call)
{
	atomic_store(&quantum->slots[slot].is_in_call, is_in_call);
}

/* The slot is not waited for any more, if nothing has happened to it since it was in `state` at `clock`. */
static bool
leave_if_still(struct quantum *quantum, struct quantum_slot *slot, unsigned state, uint64_t clock)
{
	bool is_same;

	pthread_mutex_lock(&quantum->lock);
	is_same = atomic_load(&slot->state) == state && atomic_load(&slot->clock) == clock;
	if (is_same)
		set_state(quantum, slot, SLOT_LEFT, clock);
	pthread_mutex_unlock(&quantum->lock);
	return is_same;
}

/*
 * Whether a thread that is far behind is on its way into a call: the host has not let it get there. Those that sleep
 * in it by now are out.
 */
static bool
has_leaving_behind(struct quantum *quantum, const struct quantum_slot *except, uint64_t clock)
{
	const unsigned highest = atomic_load(&quantum->highest);

	for (unsigned i = 0; i < highest; i++) {
		struct quantum_slot *slot = &quantum->slots[i];
		const uint64_t theirs = atomic_load(&slot->clock);

		if (slot == except || atomic_load(&slot->state) != SLOT_LEAVES || theirs >= clock ||
		    clock - theirs <= quantum->cycles)
			continue;
		if (host_thread_runs(atomic_load(&slot->thread)))
			return true;
		leave_if_still(quantum, slot, SLOT_LEAVES, theirs);
	}
	return false;
}

static bool
is_near(struct quantum *quantum, const struct quantum_slot *slot, uint64_t clock)
{
	uint64_t slowest;

	if (atomic_load(&quantum->is_open))
		return true;
	find_slowest(quantum, slot, &slowest);
	return (slowest >= clock || clock - slowest <= quantum->cycles) && !has_leaving_behind(quantum, slot, clock);
}

/* While the host has a core for each thread, polling sees the slowest come sooner than a wake-up would arrive. */
static bool
spin(struct quantum *quantum, const struct quantum_slot *slot, uint64_t clock)
{
	const uint64_t end = monotonic_ns() + SPIN_NS;

	do {
		if (atomic_load(&quantum->running) > quantum->host_cores)
			return false;
		if (is_near(quantum, slot, clock))
			return true;
		for (unsigned i = 0; i < 32; i++)
			host_thread_pause();
	} while (monotonic_ns() < end);
	return false;
}

/*
 * A slot that counts as running while its host thread sleeps: in a call that was not thought to block, or not back
 * from one though it was woken. It is no longer waited for.
 */
static bool
is_mistaken(struct quantum *quantum, struct quantum_slot *slot, uint64_t clock)
{
	const unsigned state = atomic_load(&slot->state);

	if (state != SLOT_WOKEN && !atomic_load(&slot->is_in_call))
		return false;
	if (leave_if_still(quantum, slot, state, clock))
		wake_waiting(quantum);
	return true;
}

/*
 * No thread executes anything, or is about to: those that do not wait here all sleep on the host. One of them waits in
 * the emulator for the others to leave their blocks.
 */
static bool
is_stuck(const struct quantum *quantum)
{
	const unsigned highest = atomic_load(&quantum->highest);

	for (unsigned i = 0; i < highest; i++) {
		const struct quantum_slot *slot = &quantum->slots[i];
		const int thread = atomic_load(&slot->thread);

		if (atomic_load(&slot->state) == SLOT_RUNS && !atomic_load(&slot->is_waiting) &&
		    (thread == 0 || !host_thread_sleeps(thread)))
			return false;
	}
	return true;
}

/*
 * May the slowest still come, after so many looks? One that is ready to run on the host will, however long the host
 * lets it wait. One that sleeps may be waiting for a lock of the emulator whose owner runs; if nobody runs, it needs
 * the calling thread to leave its block.
 */
static bool
can_come(struct quantum *quantum, const struct quantum_slot *except, uint64_t wanted, unsigned looks)
{
	uint64_t clock;
	struct quantum_slot *slowest = find_slowest(quantum, except, &clock);
	const int thread = slowest ? atomic_load(&slowest->thread) : 0;

	if (!slowest || clock >= wanted)
		return true; /* what is missing is one that leaves */
	if (atomic_load(&slowest->state) == SLOT_SLEEPS)
		return looks < SLEEP_LOOKS;
	if (thread == 0)
		return looks < UNBOUND_LOOKS;
	if (looks < 2 || !host_thread_sleeps(thread) || is_mistaken(quantum, slowest, clock))
		return true;
	return looks < STUCK_LOOKS && !is_stuck(quantum);
}

static enum quantum_result
wait_for_slowest(struct quantum *quantum, struct quantum_slot *slot, uint64_t clock)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	enum quantum_result result = QUANTUM_WAITED;

	for (unsigned looks = 0;; looks++) {
		const unsigned word = atomic_load(&slot->word);

		pthread_mutex_lock(&quantum->lock);
		if (!atomic_load(&slot->is_waiting)) {
			slot->wanted = clock - quantum->cycles;
			atomic_store(&slot->is_waiting, true);
			atomic_fetch_add(&quantum->waiting, 1);
		}
		pthread_mutex_unlock(&quantum->lock);
		if (is_near(quantum, slot, clock))
			break;
		if (syscall(SYS_futex, &slot->word, FUTEX_WAIT_PRIVATE, word, &look, NULL, 0) == 0)
			continue;
		if (errno == ETIMEDOUT && !can_come(quantum, slot, slot->wanted, looks)) {
			result = QUANTUM_GAVE_UP;
			break;
		}
	}
	pthread_mutex_lock(&quantum->lock);
	if (atomic_load(&slot->is_waiting))
		clear_waiting(quantum, slot);
	pthread_mutex_unlock(&quantum->lock);
	return result;
}

enum quantum_result
quantum_wait(struct quantum *quantum, unsigned slot, uint64_t clock)
{
	struct quantum_slot *own = &quantum->slots[slot];

	atomic_store(&own->clock, clock);
	wake_waiting(quantum);
	if (quantum->cycles == 0 || is_near(quantum, own, clock))
		return QUANTUM_NEAR;
	if (spin(quantum, own, clock))
		return QUANTUM_WAITED;
	return wait_for_slowest(quantum, own, clock);
}

void
quantum_release_all(struct quantum *quantum)
{
	atomic_store(&quantum->is_open, true);
	wake_waiting(quantum);
}

void
quantum_fork(struct quantum *quantum, unsigned slot)
{
	const uint64_t clock = atomic_load(&quantum->slots[slot].clock);

	pthread_mutex_init(&quantum->lock, NULL); /* another thread may have held it */
	for (unsigned i = 0; i < quantum->slot_count; i++)
		quantum->slots[i] = (struct quantum_slot){.state = SLOT_FREE};
	atomic_store(&quantum->running, 0);
	atomic_store(&quantum->waiting, 0);
	quantum_begin(quantum, slot, clock);
	quantum_bind(quantum, slot);
}
