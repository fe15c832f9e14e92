/* The threads of a process, as they begin, end and fork: see clock.h. */
#include <string.h>
#include <unistd.h>

#include "emulator/clock/clock_state.h"
#include "emulator/clock/guest_cpus.h"
#include "base/clock.h"
#include "emulator/clock/host_thread.h"

/* The thread that the calling one is, as far as it has made a system call; NULL. */
static struct clock_thread *
find_caller(struct clock *clock)
{
	const unsigned highest = atomic_load(&clock->highest);

	for (unsigned i = 0; i < highest; i++) {
		struct clock_thread *thread = &clock->threads[i];

		if (thread->is_alive && thread->has_host && pthread_equal(thread->host, pthread_self()))
			return thread;
	}
	return NULL;
}

void
clock_bind_thread(struct clock *clock, unsigned vcpu)
{
	struct clock_thread *thread = &clock->threads[vcpu];

	if (thread->has_host)
		return;
	thread->host = pthread_self();
	thread->host_thread = gettid();
	thread->has_host = true;
	quantum_bind(clock->quantum, vcpu);
}

/* The core with the fewest threads, the first of these; for a process's first thread, the one that it is pinned to. */
static unsigned
choose_core(const struct clock *clock, bool is_first)
{
	const unsigned cores = clock->setup.threads ? clock->setup.threads : 1, highest = atomic_load(&clock->highest);
	uint16_t threads[MACHINE_CORES_MAX] = {0};
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];
	unsigned best = 0;

	if (is_first && run_clock_affinity(clock->run_clock, clock->process, mask))
		return (unsigned)guest_cpus_first(mask, sizeof(mask));
	for (unsigned i = 0; i < highest; i++)
		if (clock->threads[i].is_alive)
			threads[clock->threads[i].core]++;
	for (unsigned i = 1; i < cores; i++)
		if (threads[i] < threads[best])
			best = i;
	return best;
}

uint64_t
clock_thread_begin(struct clock *clock, unsigned vcpu, struct record_counters *counters)
{
	struct clock_thread *thread, *parent;
	uint64_t now;

	if (vcpu >= CLOCK_VCPUS_MAX)
		return clock->start;
	thread = &clock->threads[vcpu];
	pthread_mutex_lock(&clock->lock);
	parent = find_caller(clock); /* the emulator may tell of a thread on the thread itself */
	if (!parent)
		parent = atomic_load(&clock->cloning);
	now = parent ? atomic_load(&parent->now) : clock->start;
	memset(&thread->progress, 0, sizeof(thread->progress));
	thread->core = choose_core(clock, !parent);
	thread->counters = counters ? counters : &thread->none;
	/* set_tid_address() or the clone that makes it tell */
	thread->child_address = parent ? parent->progress.child_address : 0;
	thread->last = now;
	atomic_store(&thread->now, now);
	atomic_store(&thread->began, now);
	atomic_store(&thread->blocked, 0);
	atomic_store(&thread->system, 0);
	thread->has_host = false;
	thread->has_pending_result = false;
	thread->measured_ns = 0;
	guest_random_init(&thread->random, clock->setup.seed, clock->start, vcpu);
	thread->is_alive = true;
	if (atomic_load(&clock->highest) <= vcpu)
		atomic_store(&clock->highest, vcpu + 1);
	pthread_mutex_unlock(&clock->lock);
	quantum_begin(clock->quantum, vcpu, now);
	return now;
}

void
clock_thread_end(struct clock *clock, unsigned vcpu, uint64_t now)
{
	struct clock_thread *thread;

	if (vcpu >= CLOCK_VCPUS_MAX || !clock->threads[vcpu].is_alive)
		return;
	thread = &clock->threads[vcpu];
	pthread_mutex_lock(&clock->lock);
	atomic_fetch_add(&clock->ended_cycles, now - atomic_load(&thread->began) - atomic_load(&thread->blocked));
	atomic_fetch_add(&clock->ended_system_cycles, atomic_load(&thread->system));
	thread->is_alive = false;
	pthread_mutex_unlock(&clock->lock);
	quantum_end(clock->quantum, vcpu);
}

unsigned
clock_thread_core(const struct clock *clock, unsigned vcpu)
{
	return vcpu < CLOCK_VCPUS_MAX ? clock->threads[vcpu].core : 0;
}

void
clock_fork(struct clock *clock)
{
	struct clock_thread *caller;
	unsigned vcpu;

	pthread_mutex_init(&clock->lock, NULL);
	caller = find_caller(clock);
	vcpu = caller ? (unsigned)(caller - clock->threads) : 0;
	clock->start = atomic_load(&clock->threads[vcpu].now);
	for (unsigned i = 0; i < atomic_load(&clock->highest); i++)
		clock->threads[i].is_alive = i == vcpu;
	clock->process = getpid();
	atomic_store(&clock->cloning, NULL);
	run_clock_begin(clock->run_clock, clock->process, getppid(), clock->start);
	clock->before = clock->children = (struct cpu_time){0};
	clock->threads[vcpu].host_thread = gettid();
	/* the same seed would give parent and child the same names for files */
	clock->threads[vcpu].random.state ^= ~clock->start;
	atomic_store(&clock->threads[vcpu].began, clock->start);
	atomic_store(&clock->threads[vcpu].blocked, 0);
	atomic_store(&clock->threads[vcpu].system, 0);
	atomic_store(&clock->ended_cycles, 0);
	atomic_store(&clock->ended_system_cycles, 0);
	clock->host_began = monotonic_ns();
	guest_deadlines_init(&clock->deadlines);
	guest_timers_init(&clock->timers); /* a child has none of its parent's */
	futex_model_fork(clock->futex_model);
	quantum_fork(clock->quantum, vcpu);
}
