#include "emulator/clock/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulator/clock/clock_state.h"
#include "emulator/clock/host_thread.h"

#define STEP_CYCLES 50000 /* without a quantum, between two looks at the others */

/* Where time() cannot be answered, which is a system call on x86-64, it has to agree with the others. */
static void
init_time(struct clock *clock, const char *target)
{
	struct guest_time host;

	guest_time_init(&clock->time, clock->setup.machine.clock_mhz, clock->setup.seed);
	if (guest_result_init(&clock->result, target) || strcmp(target, "x86_64") != 0)
		return;
	guest_time_init(&host, clock->setup.machine.clock_mhz, 0);
	clock->time.real_ns = host.real_ns;
}

/* A program that was executed goes on at the time of who executed it. */
static void
join_family(struct clock *clock)
{
	const uint64_t before = run_clock_time(clock->run_clock, getpid());

	clock->process = getpid();
	clock->start = before == RUN_CLOCK_UNKNOWN ? 0 : before;
	run_clock_set_time(clock->run_clock, clock->process, clock->start);
	run_clock_cpu_time(clock->run_clock, clock->process, &clock->before);
}

struct clock *
clock_new(const struct setup *setup, const char *directory, const char *target)
{
	struct clock *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return NULL;
	clock->setup = *setup;
	clock->step = setup->quantum_cycles ? setup->quantum_cycles / 2 + 1 : STEP_CYCLES;
	clock->host_began = monotonic_ns();
	(void)sched_getaffinity(0, sizeof(clock->host_affinity), &clock->host_affinity);
	init_time(clock, target);
	guest_deadlines_init(&clock->deadlines);
	guest_timers_init(&clock->timers);
	pthread_mutex_init(&clock->lock, NULL);
	/* flags, stack, parent's, child's, thread's memory; the others have the last two the other way round */
	clock->child_argument = strcmp(target, "x86_64") == 0 ? 3 : 4;
	clock->run_clock = run_clock_new(directory);
	if (clock->run_clock)
		join_family(clock);
	if (clock->run_clock)
		clock->delay = delay_new(&clock->setup, &clock->time, clock->run_clock);
	if (clock->delay)
		clock->calls = guest_calls_new(target);
	if (clock->calls)
		clock->quantum =
			quantum_new(CLOCK_VCPUS_MAX, setup->quantum_cycles, (unsigned)CPU_COUNT(&clock->host_affinity));
	if (clock->quantum)
		clock->futex_model = futex_model_new(clock->quantum, CLOCK_VCPUS_MAX);
	if (!clock->futex_model) {
		const int err = errno;

		clock_free(clock);
		errno = err;
		return NULL;
	}
	return clock;
}

void
clock_free(struct clock *clock)
{
	if (!clock)
		return;
	futex_model_free(clock->futex_model);
	quantum_free(clock->quantum);
	guest_calls_free(clock->calls);
	delay_free(clock->delay);
	run_clock_free(clock->run_clock);
	pthread_mutex_destroy(&clock->lock);
	free(clock);
}

uint64_t
clock_start(const struct clock *clock)
{
	return clock->start;
}

/*
 * More threads than cores: each has its share of them. What others had meanwhile is added to a thread's clock. The
 * target's scheduler is taken for perfect: no core is idle while a thread is ready.
 */
static uint64_t
share_cores(const struct clock *clock, uint64_t progress)
{
	const uint64_t running = quantum_running(clock->quantum);
	const uint64_t cores = clock->setup.threads ? clock->setup.threads : 1;

	return running > cores ? progress * (running - cores) / cores : 0;
}

void
clock_keep_near(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const enum quantum_result wait = quantum_wait(clock->quantum, vcpu, now);

	if (wait == QUANTUM_NEAR)
		return;
	clock->threads[vcpu].counters->waits++;
	if (wait == QUANTUM_GAVE_UP)
		clock->threads[vcpu].counters->timeouts++;
}

/* By what its owner has counted as execution. */
static void
measure_slow_down(struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const uint64_t cycles = thread->counters->cycles[REASON_EXECUTION], ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (cycles > thread->measured_cycles && ns > thread->measured_ns && thread->measured_ns > 0)
		delay_measure(clock->delay, now, cycles - thread->measured_cycles, ns - thread->measured_ns);
	thread->measured_cycles = cycles;
	thread->measured_ns = ns;
}

void
clock_reached(struct clock *clock, unsigned vcpu, uint64_t now, struct clock_step *step)
{
	struct clock_thread *thread;
	uint64_t shared;

	*step = (struct clock_step){.now = now, .limit = now + clock->step};
	if (vcpu >= CLOCK_VCPUS_MAX)
		return;
	thread = &clock->threads[vcpu];
	clock_bind_thread(clock, vcpu);
	if (thread->has_pending_result) {
		guest_result_write(&clock->result, vcpu, thread->pending_result);
		thread->has_pending_result = false;
	}
	shared = now > thread->last ? share_cores(clock, now - thread->last) : 0;
	step->now += shared;
	step->blocked_cycles = shared;
	atomic_fetch_add_explicit(&thread->blocked, shared, memory_order_relaxed);
	atomic_store(&thread->now, step->now);
	thread->last = step->now;
	step->limit = step->now + clock->step;
	run_clock_set_time(clock->run_clock, clock->process, step->now);
	if (delay_is_measuring(clock->delay))
		measure_slow_down(clock, thread, step->now);
	clock_settle(clock, vcpu, step->now);
	clock_keep_near(clock, vcpu, step->now);
}

void
clock_settle(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const uint64_t ns = delay_settle(clock->delay, now);

	if (ns > 0 && vcpu < CLOCK_VCPUS_MAX)
		clock->threads[vcpu].counters->delayed_ns += ns;
}
