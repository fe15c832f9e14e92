/* skew_reach(): see skew.h. Who is too far ahead waits for the slowest, and finds out when that will not come. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator/clock/host_thread.h"
#include "emulator/clock/skew_state.h"

#define SPIN_NS       20000
#define LOOK_NS       1000000 /* until the slowest thread is looked at */
#define UNBOUND_LOOKS 1000    /* at a thread that never began, until nobody waits for it */
#define STUCK_LOOKS   1000    /* at one that sleeps, while others run */
#define SLEEP_LOOKS   100     /* at one that sleeps: somebody may need us to leave meanwhile */

static bool
is_near(const struct skew *skew, const struct slot *slot, uint64_t clock)
{
	uint64_t slowest;

	if (atomic_load(&skew->is_open))
		return true;
	skew_find_slowest(skew, slot, &slowest);
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
		skew_set_state(skew, slot, SLOT_LEFT, clock);
		is_changed = true;
	}
	pthread_mutex_unlock(&skew->lock);
	if (is_changed)
		skew_wake_waiting(skew);
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
	struct slot *slowest = skew_find_slowest(skew, except, &clock);
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
	skew_wake_waiting(skew);
	if (skew->quantum == 0 || is_near(skew, own, clock))
		return SKEW_NEAR;
	if (spin(skew, own, clock))
		return SKEW_WAITED;
	return wait_for_slowest(skew, own, clock);
}
