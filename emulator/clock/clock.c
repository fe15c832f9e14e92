#include "emulator/clock/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulator/clock/delay.h"
#include "emulator/clock/futex_model.h"
#include "emulator/clock/guest_state.h"
#include "emulator/clock/guest_time.h"
#include "emulator/clock/host_thread.h"
#include "emulator/clock/quantum.h"
#include "emulator/clock/run_clock.h"
#include "emulator/clock/syscalls.h"
#include "emulator/qemu_functions.h"

#define STEP_CYCLES            50000  /* without a quantum, between two calls of clock_reached() */
#define COPIED_BYTES_PER_CYCLE 8      /* by a system call: a line of 64 bytes in 8 cycles */
#define RESULT_RESTART         (-512) /* QEMU's: a signal came, the call is made again */

#define TICKS_PER_S 100 /* of times(), on each architecture */
#define NS_PER_TICK (1000000000 / TICKS_PER_S)

/*
 * The state. A thread's is its own, except for what is atomic or said to be under the lock; the rest is constant or
 * locks by itself.
 */

/* A system call that has begun and not ended. */
struct clock_pending_call {
	struct clock_call call;
	enum syscall_kind kind;
	uint64_t began;         /* cycles */
	uint64_t sleeps;        /* host_thread_sleep_count() then */
	uint64_t host_began;    /* ns, of a sleep */
	uint64_t child_address; /* of the thread that it makes */
	bool waits_for_futex, wakes_futex;
	bool is_away;  /* other threads do not wait for this one */
	bool is_alone; /* the process has, and has had, no other thread */
	struct guest_deadline deadline;
	uint64_t pipe; /* that it reads from, or writes to; 0 */
};

struct clock_thread {
	struct clock_pending_call pending;
	struct record_counters *counters;
	struct record_counters none; /* where there are no counters */
	pthread_t host;              /* that made its last system call: finds the parent of a new thread */
	int host_thread;             /* tid of `host` */
	bool is_alive, has_host;
	atomic_bool is_pinned;                     /* set under the lock, as the mask */
	uint8_t affinity[RUN_CLOCK_AFFINITY_SIZE]; /* the cores that it may run on, if it is pinned */
	atomic_uint core;                          /* set under the lock */
	uint64_t last;                             /* its clock at the last clock_reached() */
	atomic_uint_fast64_t now;                  /* its clock when it was last known; other threads read it */
	atomic_uint_fast64_t began;
	atomic_uint_fast64_t blocked; /* cycles since it began */
	atomic_uint_fast64_t system;
	uint64_t child_address;  /* futex that the kernel clears and wakes at the thread's end; 0 */
	int64_t result_override; /* what its last call is to return; with has_result_override */
	bool has_result_override;
	struct guest_random random;
	uint64_t measured_cycles, measured_ns; /* execution, and CPU time of the host, at its last delay_measure() */
};

struct clock {
	struct setup setup;
	uint64_t start;
	uint64_t host_began; /* ns: when the process started */
	uint64_t step;       /* cycles between two calls of clock_reached() */
	struct guest_time time;
	struct guest_deadlines deadlines;
	struct guest_timers timers;
	struct guest_result result;
	struct run_clock *run_clock;
	struct delay *delay;
	struct quantum *quantum;
	struct futex_model *futexes;
	pid_t process;
	struct cpu_time before;   /* of this process when it executed this program */
	struct cpu_time children; /* of those that it has waited for; under the lock */
	cpu_set_t host_affinity;  /* when the process started */
	bool is_x86_64;
	pthread_mutex_t lock;                                   /* of which threads are alive, and on which core */
	_Atomic(struct clock_thread *) cloning;                 /* the last to call clone() for a thread */
	atomic_uint highest;                                    /* thread so far, and one */
	atomic_uint_fast64_t ended_cycles, ended_system_cycles; /* of threads that have ended */
	struct clock_thread threads[CLOCK_VCPUS_MAX];
};

/* Where the answer of time(), a system call on x86-64, cannot be replaced, the other clocks have to agree with it. */
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

struct clock *
clock_new(const struct setup *setup, const char *directory, const char *target)
{
	struct clock *clock;
	int err;

	if (strcmp(target, "x86_64") != 0 && strcmp(target, "aarch64") != 0 && strcmp(target, "riscv64") != 0) {
		errno = ENOTSUP;
		return NULL;
	}
	clock = calloc(1, sizeof(*clock));
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
	clock->is_x86_64 = strcmp(target, "x86_64") == 0;
	clock->run_clock = run_clock_new(directory);
	if (!clock->run_clock)
		goto fail;
	clock->process = getpid();
	clock->start = run_clock_time(clock->run_clock, clock->process);
	if (clock->start == RUN_CLOCK_UNKNOWN)
		clock->start = 0;
	/* else a program that was executed starts at the time of the exec call */
	run_clock_set_time(clock->run_clock, clock->process, clock->start);
	run_clock_cpu_time(clock->run_clock, clock->process, &clock->before);
	clock->delay = delay_new(&clock->setup, &clock->time, clock->run_clock);
	if (!clock->delay)
		goto fail;
	clock->quantum =
		quantum_new(CLOCK_VCPUS_MAX, setup->quantum_cycles, (unsigned)CPU_COUNT(&clock->host_affinity));
	if (!clock->quantum)
		goto fail;
	clock->futexes = futex_model_new(clock->quantum, CLOCK_VCPUS_MAX);
	if (!clock->futexes)
		goto fail;
	return clock;
fail:
	err = errno;
	clock_free(clock);
	errno = err;
	return NULL;
}

void
clock_free(struct clock *clock)
{
	if (!clock)
		return;
	futex_model_free(clock->futexes);
	quantum_free(clock->quantum);
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

/* Threads begin and end. */

/* The calling thread, if it has made a system call or entered a block with clock_reached(); NULL. */
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

/*
 * Under the lock: put the thread on the core with the fewest other threads, the first of these, of those that it may
 * run on. A thread that may stay where it is does not move.
 */
static void
choose_core(const struct clock *clock, struct clock_thread *thread, bool may_stay)
{
	const unsigned cores = clock->setup.threads ? clock->setup.threads : 1, highest = atomic_load(&clock->highest);
	uint16_t threads[MACHINE_CORES_MAX] = {0};
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];
	const unsigned core = atomic_load(&thread->core);
	unsigned best;

	guest_cpus_mask(mask, sizeof(mask), cores);
	if (thread->is_pinned)
		memcpy(mask, thread->affinity, sizeof(mask));
	if (may_stay && guest_cpus_has(mask, core))
		return;
	for (unsigned i = 0; i < highest; i++)
		if (clock->threads[i].is_alive && &clock->threads[i] != thread)
			threads[clock->threads[i].core]++;
	best = (unsigned)guest_cpus_first(mask, sizeof(mask));
	for (unsigned i = best + 1; i < cores; i++)
		if (guest_cpus_has(mask, i) && threads[i] < threads[best])
			best = i;
	atomic_store(&thread->core, best);
}

/* Under the lock: pin the thread to the cores of `mask`, which has some of the target's, or all, and no other. */
static void
pin_thread(struct clock *clock, struct clock_thread *thread, const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE])
{
	uint8_t all[RUN_CLOCK_AFFINITY_SIZE];

	guest_cpus_mask(all, sizeof(all), clock->setup.threads);
	memcpy(thread->affinity, mask, sizeof(thread->affinity));
	thread->is_pinned = memcmp(mask, all, sizeof(all)) != 0;
	choose_core(clock, thread, true);
}

/*
 * Note that the calling thread of the host is that of `vcpu`. Only now its number is known: another thread may have
 * pinned it before it ran, and others may ask for the mask that it has from its parent.
 */
static void
bind_thread(struct clock *clock, unsigned vcpu)
{
	struct clock_thread *thread = &clock->threads[vcpu];
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];

	if (thread->has_host)
		return;
	pthread_mutex_lock(&clock->lock);
	thread->host = pthread_self();
	thread->host_thread = gettid();
	thread->has_host = true;
	if (run_clock_affinity(clock->run_clock, thread->host_thread, mask))
		pin_thread(clock, thread, mask);
	else if (thread->is_pinned)
		run_clock_set_affinity(clock->run_clock, thread->host_thread, thread->affinity);
	pthread_mutex_unlock(&clock->lock);
	quantum_bind(clock->quantum, vcpu);
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
	parent = find_caller(clock);
	if (!parent) /* the emulator may announce a thread on the new thread itself */
		parent = atomic_load(&clock->cloning);
	now = parent ? atomic_load(&parent->now) : clock->start;
	memset(&thread->pending, 0, sizeof(thread->pending));
	thread->is_pinned =
		parent ? parent->is_pinned : run_clock_affinity(clock->run_clock, clock->process, thread->affinity);
	if (parent)
		memcpy(thread->affinity, parent->affinity, sizeof(thread->affinity));
	choose_core(clock, thread, false);
	thread->counters = counters ? counters : &thread->none;
	thread->child_address = parent ? parent->pending.child_address : 0;
	thread->last = now;
	atomic_store(&thread->now, now);
	atomic_store(&thread->began, now);
	atomic_store(&thread->blocked, 0);
	atomic_store(&thread->system, 0);
	thread->has_host = false;
	thread->has_result_override = false;
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
	if (thread->has_host && thread->host_thread != clock->process)
		run_clock_unpin(clock->run_clock, thread->host_thread); /* a later thread may get its number */
	pthread_mutex_unlock(&clock->lock);
	quantum_end(clock->quantum, vcpu);
}

unsigned
clock_thread_core(const struct clock *clock, unsigned vcpu)
{
	return vcpu < CLOCK_VCPUS_MAX ? clock->threads[vcpu].core : 0;
}

/* Cycles that the thread has had a core for until `now`. */
static uint64_t
thread_cpu_cycles(const struct clock_thread *thread, uint64_t now)
{
	const uint64_t away = atomic_load(&thread->began) + atomic_load(&thread->blocked);

	return now > away ? now - away : 0;
}

/* CPU time of all threads, without children. */
static void
cpu_time_of_all(const struct clock *clock, struct cpu_time *cpu)
{
	const unsigned highest = atomic_load(&clock->highest);

	*cpu = clock->before;
	cpu->all += atomic_load(&clock->ended_cycles);
	cpu->system += atomic_load(&clock->ended_system_cycles);
	for (unsigned i = 0; i < highest; i++) {
		const struct clock_thread *thread = &clock->threads[i];

		if (!thread->is_alive)
			continue;
		cpu->all += thread_cpu_cycles(thread, atomic_load(&thread->now));
		cpu->system += atomic_load(&thread->system);
	}
}

/* A thread executes. */

/*
 * With more threads than cores each has its share of them: what the others had meanwhile is added to a thread's clock.
 * The target's scheduler is assumed to be perfect: no core is idle while a thread is ready. A pinned thread has its
 * share of the core that it is on.
 */
static uint64_t
share_cores(const struct clock *clock, const struct clock_thread *thread, uint64_t cycles)
{
	const unsigned highest = atomic_load(&clock->highest);
	uint64_t running = quantum_running(clock->quantum), cores = clock->setup.threads ? clock->setup.threads : 1;

	if (thread->is_pinned) {
		running = cores = 1;
		for (unsigned i = 0; i < highest; i++) {
			const struct clock_thread *other = &clock->threads[i];

			running += other != thread && other->is_alive && other->core == thread->core &&
			           quantum_is_running(clock->quantum, i);
		}
	}
	return running > cores ? cycles * (running - cores) / cores : 0;
}

/* The thread's clock is `now`: wait for those that are far behind. */
static void
wait_for_others(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const enum quantum_result result = quantum_wait(clock->quantum, vcpu, now);

	if (result == QUANTUM_NEAR)
		return;
	clock->threads[vcpu].counters->waits++;
	if (result == QUANTUM_GAVE_UP)
		clock->threads[vcpu].counters->timeouts++;
}

/* By what the thread's owner has counted as execution. */
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
clock_settle(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const uint64_t ns = delay_settle(clock->delay, now);

	if (ns > 0 && vcpu < CLOCK_VCPUS_MAX)
		clock->threads[vcpu].counters->delayed_ns += ns;
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
	bind_thread(clock, vcpu);
	if (thread->has_result_override) {
		guest_result_write(&clock->result, vcpu, thread->result_override);
		thread->has_result_override = false;
	}
	shared = now > thread->last ? share_cores(clock, thread, now - thread->last) : 0;
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
	wait_for_others(clock, vcpu, step->now);
}

/* A system call begins. */

/* futex(address, operation, value, timeout or value2, address2, value3) */
static void
futex_call_began(struct clock *clock, unsigned vcpu, struct clock_pending_call *pending)
{
	const uint64_t *arguments = pending->call.arguments;
	struct futex_wake wake = {.address = arguments[0], .count = (uint32_t)arguments[2]};

	switch (arguments[1] & FUTEX_CMD_MASK & UINT32_MAX) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		pending->waits_for_futex = true;
		futex_model_wait_begin(clock->futexes, vcpu, wake.address);
		return;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		break;
	case FUTEX_UNLOCK_PI:
		wake.count = 1;
		break;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		wake.other = arguments[4];
		wake.moves = true;
		break;
	case FUTEX_WAKE_OP:
		wake.other = arguments[4];
		break;
	default:
		return;
	}
	pending->wakes_futex = true;
	futex_model_wake_begin(clock->futexes, vcpu, &wake, pending->began);
}

/* The kernel wakes the threads that join this one. */
static void
wake_joining_threads(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const struct futex_wake wake = {.address = clock->threads[vcpu].child_address, .count = UINT32_MAX};

	if (!wake.address)
		return;
	futex_model_wake_begin(clock->futexes, vcpu, &wake, now);
	futex_model_wake_end(clock->futexes, vcpu, UINT32_MAX);
}

/* What has to be known of the call before other threads can see its effect. */
static void
note_effects(struct clock *clock, unsigned vcpu)
{
	struct clock_thread *thread = &clock->threads[vcpu];
	struct clock_pending_call *pending = &thread->pending;
	const uint64_t *arguments = pending->call.arguments;
	struct cpu_time cpu;

	switch (pending->kind) {
	case CALL_FUTEX:
		futex_call_began(clock, vcpu, pending);
		return;
	case CALL_CLONE:
		/* flags, stack, parent's, child's, thread's memory; other targets have the last two the other way round
		 */
		if (arguments[0] & CLONE_CHILD_CLEARTID)
			pending->child_address = arguments[clock->is_x86_64 ? 3 : 4];
		if ((arguments[0] & (CLONE_VM | CLONE_VFORK)) == CLONE_VM)
			atomic_store(&clock->cloning, thread);
		return;
	case CALL_SET_CHILD_ADDRESS:
		thread->child_address = arguments[0];
		return;
	case CALL_READ:
	case CALL_READ_OTHER:
		pending->pipe = run_clock_pipe((int)arguments[0]);
		return;
	case CALL_WRITE:
		pending->pipe = run_clock_pipe((int)arguments[0]);
		if (pending->pipe)
			run_clock_pipe_write_begin(clock->run_clock, pending->pipe, pending->began);
		return;
	case CALL_EXIT_GROUP:
		quantum_release_all(clock->quantum);
		/* fall through */
	case CALL_EXEC:
		cpu_time_of_all(clock, &cpu);
		run_clock_set_cpu_time(clock->run_clock, clock->process, &cpu);
		return;
	case CALL_EXIT:
		wake_joining_threads(clock, vcpu, pending->began);
		return;
	default:
		return;
	}
}

/* How much slower than the target the other threads run, for which this one is about to wait. */
static double
slow_down_of_others(const struct clock *clock, unsigned vcpu, uint64_t now)
{
	const double host_ns = (double)(monotonic_ns() - clock->host_began);
	const double ns = (double)guest_time_ns(&clock->time, now - clock->start);

	if (now <= clock->start || quantum_slowest(clock->quantum, vcpu) == QUANTUM_NONE || host_ns <= ns)
		return 1;
	return host_ns / ns;
}

static bool
is_sleep(enum syscall_kind kind)
{
	return kind == CALL_NANOSLEEP || kind == CALL_CLOCK_NANOSLEEP;
}

void
clock_call_began(struct clock *clock, unsigned vcpu, uint64_t now, const struct clock_call *call)
{
	const enum syscall_kind kind = syscall_kind_of(clock->is_x86_64, call->number);
	struct clock_pending_call *pending;
	struct clock_thread *thread;

	if (vcpu >= CLOCK_VCPUS_MAX)
		return;
	thread = &clock->threads[vcpu];
	pending = &thread->pending;
	*pending = (struct clock_pending_call){.call = *call, .kind = kind, .began = now};
	pending->deadline.cycles = QUANTUM_NONE;
	bind_thread(clock, vcpu);
	thread->counters->calls++;
	atomic_store(&thread->now, now);
	run_clock_set_time(clock->run_clock, clock->process, now);
	clock_settle(clock, vcpu, now);
	quantum_set_in_call(clock->quantum, vcpu, true);
	note_effects(clock, vcpu);
	if (syscall_sets_timer(kind))
		guest_deadline_begin(&clock->deadlines, &clock->time, kind, call, now, 1, &pending->deadline);
	if (!syscall_may_block(kind) || pending->wakes_futex)
		return;
	pending->is_away = true;
	guest_deadline_begin(&clock->deadlines, &clock->time, kind, call, now,
	                     kind == CALL_FUTEX ? slow_down_of_others(clock, vcpu, now) : 1, &pending->deadline);
	if (is_sleep(kind))
		pending->host_began = monotonic_ns();
	/* counting sleeps is a system call of the host, and matters only where others may act meanwhile */
	pending->is_alone = atomic_load(&clock->highest) == 1;
	if (!pending->is_alone || pending->pipe)
		pending->sleeps = host_thread_sleep_count();
	if (pending->is_alone)
		return;
	if (is_sleep(kind) && pending->deadline.cycles != QUANTUM_NONE)
		quantum_sleep(clock->quantum, vcpu, pending->deadline.cycles);
	else
		quantum_leave(clock->quantum, vcpu);
}

/* What the guest gets as time, processors and random numbers, in the place of the kernel's answer. */

/* The call is to have returned `result`: it is in the guest's register before the next block. */
static void
override_result(struct clock_thread *thread, int64_t result)
{
	thread->result_override = result;
	thread->has_result_override = true;
}

static uint64_t
user_cycles(const struct cpu_time *cpu)
{
	return cpu->all > cpu->system ? cpu->all - cpu->system : 0;
}

static void
children_cpu_time(struct clock *clock, struct cpu_time *cpu)
{
	pthread_mutex_lock(&clock->lock);
	*cpu = clock->children;
	pthread_mutex_unlock(&clock->lock);
}

/* clock_gettime(id, time) */
static void
answer_clock(const struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->pending.call;
	const int id = (int)call->arguments[0];
	struct timespec shown;
	uint64_t cycles = now;

	if (id == CLOCK_PROCESS_CPUTIME_ID) {
		struct cpu_time cpu;

		cpu_time_of_all(clock, &cpu);
		cycles = cpu.all;
	} else if (id == CLOCK_THREAD_CPUTIME_ID) {
		cycles = thread_cpu_cycles(thread, now);
	}
	if (guest_time_read(&clock->time, id, cycles, &shown))
		guest_memory_write(call->arguments[1], call->base, &shown, sizeof(shown));
}

/* gettimeofday(time, zone) */
static void
answer_time_of_day(const struct clock *clock, const struct clock_call *call, uint64_t now)
{
	struct timespec shown;
	struct timeval time;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	time = (struct timeval){.tv_sec = shown.tv_sec, .tv_usec = shown.tv_nsec / 1000};
	guest_memory_write(call->arguments[0], call->base, &time, sizeof(time));
}

/* time(seconds) */
static void
answer_seconds(const struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->pending.call;
	struct timespec shown;
	int64_t seconds;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	seconds = shown.tv_sec;
	guest_memory_write(call->arguments[0], call->base, &seconds, sizeof(seconds));
	override_result(thread, seconds);
}

static int64_t
as_ticks(const struct clock *clock, uint64_t cycles)
{
	return (int64_t)(guest_time_ns(&clock->time, cycles) / NS_PER_TICK);
}

/* times(): struct tms, in ticks; the result is how many there were since the machine was started. */
static void
answer_ticks(struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->pending.call;
	struct cpu_time own, children;
	struct timespec shown;
	int64_t ticks[4];

	guest_time_read(&clock->time, CLOCK_MONOTONIC, now, &shown);
	cpu_time_of_all(clock, &own);
	children_cpu_time(clock, &children);
	ticks[0] = as_ticks(clock, user_cycles(&own));
	ticks[1] = as_ticks(clock, own.system);
	ticks[2] = as_ticks(clock, user_cycles(&children));
	ticks[3] = as_ticks(clock, children.system);
	guest_memory_write(call->arguments[0], call->base, ticks, sizeof(ticks));
	override_result(thread, (int64_t)shown.tv_sec * TICKS_PER_S + shown.tv_nsec / NS_PER_TICK);
}

static struct timeval
as_timeval(const struct clock *clock, uint64_t cycles)
{
	const uint64_t ns = guest_time_ns(&clock->time, cycles);

	return (struct timeval){.tv_sec = (time_t)(ns / SECOND_NS), .tv_usec = (suseconds_t)(ns % SECOND_NS / 1000)};
}

/* A struct rusage begins with the user's time and the system's. */
static void
write_usage(const struct clock *clock, const struct clock_call *call, uint64_t address, const struct cpu_time *cpu)
{
	const struct timeval times[] = {as_timeval(clock, user_cycles(cpu)), as_timeval(clock, cpu->system)};

	guest_memory_write(address, call->base, times, sizeof(times));
}

/* getrusage(subject, usage) */
static void
answer_usage(struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->pending.call;
	const int subject = (int)call->arguments[0];
	struct cpu_time cpu;

	if (subject == RUSAGE_THREAD)
		cpu = (struct cpu_time){thread_cpu_cycles(thread, now), atomic_load(&thread->system)};
	else if (subject == RUSAGE_CHILDREN)
		children_cpu_time(clock, &cpu);
	else
		cpu_time_of_all(clock, &cpu);
	write_usage(clock, call, call->arguments[1], &cpu);
}

/* wait4(process, status, options, usage): a child has ended, and its CPU time counts among the children's from now on.
 */
static void
answer_wait(struct clock *clock, const struct clock_call *call, int64_t result)
{
	struct cpu_time cpu;

	if (result <= 0)
		return;
	run_clock_cpu_time(clock->run_clock, (pid_t)result, &cpu);
	pthread_mutex_lock(&clock->lock);
	clock->children.all += cpu.all;
	clock->children.system += cpu.system;
	pthread_mutex_unlock(&clock->lock);
	write_usage(clock, call, call->arguments[3], &cpu);
}

static void
answer_random(struct clock *clock, struct clock_thread *thread, uint64_t address, int64_t result)
{
	uint8_t bytes[256];

	if (!clock->setup.seed)
		return;
	for (int64_t done = 0; done < result;) {
		const size_t size = (size_t)(result - done) < sizeof(bytes) ? (size_t)(result - done) : sizeof(bytes);

		guest_random_fill(&thread->random, bytes, size);
		guest_memory_write(address + (uint64_t)done, thread->pending.call.base, bytes, size);
		done += (int64_t)size;
	}
}

/* read(fd, bytes, size) from /dev/random or /dev/urandom */
static void
answer_read(struct clock *clock, struct clock_thread *thread, int64_t result)
{
	const struct clock_call *call = &thread->pending.call;
	struct stat file;

	if (fstat((int)call->arguments[0], &file) == 0 && S_ISCHR(file.st_mode) && major(file.st_rdev) == 1 &&
	    (minor(file.st_rdev) == 8 || minor(file.st_rdev) == 9))
		answer_random(clock, thread, call->arguments[1], result);
}

/* open(path, flags) or openat(directory, path, flags): a file that lists processors lists the target's. */
static void
answer_open(const struct clock *clock, const struct clock_call *call, unsigned path, int64_t result)
{
	char text[GUEST_CPUS_PATH_MAX];

	if (guest_memory_read_string(call->arguments[path], call->base, text, sizeof(text)) &&
	    guest_cpus_is_listing(text))
		(void)guest_cpus_replace((int)result, text, clock->setup.threads,
		                         call->arguments[path + 1] & O_CLOEXEC);
}

/* The thread whose affinity a call gets or sets. */
static pid_t
affinity_subject(const struct clock_thread *caller)
{
	const pid_t number = (pid_t)caller->pending.call.arguments[0];

	return number ? number : caller->host_thread;
}

/*
 * sched_getaffinity(thread, size, mask): the kernel wrote `result` bytes, enough for the host's processors. The
 * target's may need more bytes. When the guest gave no room for them the call fails, and programs call again with more.
 */
static void
answer_affinity(const struct clock *clock, struct clock_thread *caller, int64_t result)
{
	const struct clock_call *call = &caller->pending.call;
	const size_t needed = guest_cpus_mask_size(clock->setup.threads);
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];
	size_t size = (size_t)result < sizeof(mask) ? (size_t)result : sizeof(mask);

	if (call->arguments[1] < needed) {
		override_result(caller, -EINVAL);
		return;
	}
	if (size < needed) {
		size = needed;
		override_result(caller, (int64_t)needed);
	}
	if (!run_clock_affinity(clock->run_clock, affinity_subject(caller), mask))
		guest_cpus_mask(mask, sizeof(mask), clock->setup.threads);
	guest_memory_write(call->arguments[2], call->base, mask, size);
}

/*
 * sched_setaffinity(thread, size, mask): the host may have failed with -EINVAL because it has none of these processors,
 * which the target may have; when it succeeded, the host's thread must not stay on them. A thread that has to move is
 * on its new core from its next block, or turn, on.
 */
static void
answer_set_affinity(struct clock *clock, struct clock_thread *caller, int64_t result)
{
	const struct clock_call *call = &caller->pending.call;
	const pid_t subject = affinity_subject(caller);
	const unsigned highest = atomic_load(&clock->highest);
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE] = {0}, all[RUN_CLOCK_AFFINITY_SIZE];
	const size_t size = call->arguments[1] < sizeof(mask) ? (size_t)call->arguments[1] : sizeof(mask);
	int first;

	if ((result < 0 && result != -EINVAL) || !guest_memory_read(call->arguments[2], call->base, mask, size))
		return;
	if (result == 0)
		(void)sched_setaffinity(subject, sizeof(clock->host_affinity), &clock->host_affinity);
	guest_cpus_mask(all, sizeof(all), clock->setup.threads);
	for (size_t i = 0; i < sizeof(mask); i++)
		mask[i] &= all[i];
	first = guest_cpus_first(mask, sizeof(mask));
	override_result(caller, first < 0 ? -EINVAL : 0);
	if (first < 0)
		return;
	pthread_mutex_lock(&clock->lock);
	run_clock_set_affinity(clock->run_clock, subject, mask);
	for (unsigned i = 0; i < highest; i++) {
		struct clock_thread *thread = &clock->threads[i];

		if (thread->is_alive && thread->has_host && thread->host_thread == subject)
			pin_thread(clock, thread, mask);
	}
	pthread_mutex_unlock(&clock->lock);
}

/* getcpu(core, node) */
static void
answer_core(const struct clock *clock, const struct clock_thread *thread)
{
	const struct clock_call *call = &thread->pending.call;
	const struct machine *machine = &clock->setup.machine;
	const uint32_t core = thread->core;
	uint32_t node = 0;

	if (machine->nodes > 1)
		node = machine_used_core(machine, clock->setup.threads, core) / (machine->cores / machine->nodes);

	guest_memory_write(call->arguments[0], call->base, &core, sizeof(core));
	guest_memory_write(call->arguments[1], call->base, &node, sizeof(node));
}

/*
 * The thread's call has returned `result`, at `now`: write the target's answer about time, processors and random
 * numbers over the kernel's.
 */
static void
answer_call(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now)
{
	struct clock_thread *thread = &clock->threads[vcpu];
	const struct clock_call *call = &thread->pending.call;
	const enum syscall_kind kind = thread->pending.kind;

	if (kind == CALL_SETAFFINITY)
		answer_set_affinity(clock, thread, result);
	if (kind == CALL_SETAFFINITY || result < 0)
		return;
	switch (kind) {
	case CALL_CLOCK_GETTIME:
		answer_clock(clock, thread, now);
		return;
	case CALL_GETTIMEOFDAY:
		answer_time_of_day(clock, call, now);
		return;
	case CALL_TIME:
		answer_seconds(clock, thread, now);
		return;
	case CALL_TIMES:
		answer_ticks(clock, thread, now);
		return;
	case CALL_GETRUSAGE:
		answer_usage(clock, thread, now);
		return;
	case CALL_WAIT4:
		answer_wait(clock, call, result);
		return;
	case CALL_GETRANDOM:
		answer_random(clock, thread, call->arguments[0], result);
		return;
	case CALL_READ:
		answer_read(clock, thread, result);
		return;
	case CALL_OPEN:
		answer_open(clock, call, 0, result);
		return;
	case CALL_OPENAT:
		answer_open(clock, call, 1, result);
		return;
	case CALL_GETAFFINITY:
		answer_affinity(clock, thread, result);
		return;
	case CALL_GETCPU:
		answer_core(clock, thread);
		return;
	default:
		return;
	}
}

/* A system call ends. */

static bool
is_interrupted(int64_t result)
{
	return result == -EINTR || result == RESULT_RESTART;
}

/* A struct itimerspec, or itimerval, begins with the interval. */
static uint64_t
read_interval(enum syscall_kind kind, const struct clock_call *call)
{
	struct timespec interval = {0};

	if (kind == CALL_ALARM || !guest_memory_read(call->arguments[kind == CALL_SETITIMER ? 1 : 2], call->base,
	                                             &interval, sizeof(interval)))
		return 0;
	if (interval.tv_sec < 0 || interval.tv_sec > INT32_MAX || interval.tv_nsec < 0)
		return 0;
	return (uint64_t)interval.tv_sec * SECOND_NS + (uint64_t)interval.tv_nsec * (kind == CALL_SETITIMER ? 1000 : 1);
}

static void
set_timer(struct clock *clock, const struct clock_pending_call *pending, enum guest_timer_kind kind, int id)
{
	const uint64_t expires = pending->deadline.cycles;
	struct guest_timer timer = {.kind = kind, .id = id, .expires = expires};

	if (expires == QUANTUM_NONE) {
		guest_timers_clear(&clock->timers, kind, id);
		return;
	}
	timer.interval_ns = read_interval(pending->kind, &pending->call);
	timer.host_ns = monotonic_ns() + guest_time_ns(&clock->time, expires - pending->began);
	guest_timers_set(&clock->timers, &timer);
}

/* A call that may have set or ended a timer has returned. */
static void
note_timer(struct clock *clock, const struct clock_pending_call *pending, int64_t result)
{
	const int id = (int)pending->call.arguments[0];

	if (result < 0)
		return;
	switch (pending->kind) {
	case CALL_SETITIMER:
		if (id == ITIMER_REAL)
			set_timer(clock, pending, TIMER_INTERVAL, 0);
		return;
	case CALL_ALARM:
		set_timer(clock, pending, TIMER_INTERVAL, 0);
		return;
	case CALL_TIMER_SET:
		set_timer(clock, pending, TIMER_POSIX, id);
		return;
	case CALL_TIMER_DELETE:
		guest_timers_clear(&clock->timers, TIMER_POSIX, id);
		return;
	case CALL_TIMERFD_SET:
		set_timer(clock, pending, TIMER_DESCRIPTOR, id);
		return;
	case CALL_CLOSE:
		guest_timers_clear(&clock->timers, TIMER_DESCRIPTOR, id);
		return;
	default:
		return;
	}
}

/* When the timer expired that ended the call; TIMER_NONE. */
static uint64_t
time_of_timer(struct clock *clock, const struct clock_pending_call *pending, int64_t result)
{
	if (is_interrupted(result) || (pending->kind == CALL_SIGNAL_TIMED_WAIT && result > 0))
		return guest_timers_signal(&clock->timers, &clock->time, monotonic_ns());
	if (pending->kind == CALL_READ && result == sizeof(uint64_t))
		return guest_timers_read(&clock->timers, &clock->time, (int)pending->call.arguments[0], monotonic_ns());
	return TIMER_NONE;
}

/* The call waited until its deadline, if it has one. */
static bool
timed_out(const struct clock_pending_call *pending, int64_t result)
{
	switch (pending->kind) {
	case CALL_FUTEX:
		return result == -ETIMEDOUT;
	case CALL_SIGNAL_TIMED_WAIT:
		return result < 0 && !is_interrupted(result);
	default:
		return result == 0;
	}
}

/* When a child ended, or the data that was read was written, or a pipe had room; QUANTUM_NONE: not known. */
static uint64_t
time_of_other_process(struct clock *clock, const struct clock_pending_call *pending, int64_t result)
{
	const struct clock_call *call = &pending->call;
	siginfo_t child; /* of waitid(kind, number, information, ...) */

	if (result < 0)
		return QUANTUM_NONE;
	switch (pending->kind) {
	case CALL_WAIT4:
		return result > 0 ? run_clock_time(clock->run_clock, (pid_t)result) : QUANTUM_NONE;
	case CALL_WAITID:
		if (!guest_memory_read(call->arguments[2], call->base, &child, sizeof(child)))
			child.si_pid = 0;
		return run_clock_time(clock->run_clock, child.si_pid);
	case CALL_READ:
	case CALL_READ_OTHER:
		if (!pending->pipe || result == 0)
			return QUANTUM_NONE;
		return run_clock_pipe_read(clock->run_clock, pending->pipe, pending->began, (uint64_t)result);
	case CALL_WRITE:
		if (!pending->pipe)
			return QUANTUM_NONE;
		run_clock_pipe_write_end(clock->run_clock, pending->pipe, pending->began, (uint64_t)result);
		if (host_thread_sleep_count() == pending->sleeps)
			return pending->began;
		return run_clock_pipe_room(clock->run_clock, pending->pipe);
	default:
		return QUANTUM_NONE;
	}
}

/*
 * FUTEX_WAIT returned -EAGAIN: the value had changed already. The host may have delayed the thread before it could see
 * that, while others went on. When the value changed, at the earliest; QUANTUM_NONE: not known.
 */
static uint64_t
time_of_futex_change(struct clock *clock, unsigned vcpu)
{
	const uint64_t woken = futex_model_last_wake(clock->futexes, clock->threads[vcpu].pending.call.arguments[0]);
	const uint64_t slowest = quantum_slowest(clock->quantum, vcpu);

	if (woken == QUANTUM_NONE || (slowest != QUANTUM_NONE && slowest > woken))
		return slowest;
	return woken;
}

/*
 * When a thread continues that has slept on the host: not before the others, which have run since. If none of them runs
 * now, as in a server that has done all that was asked of it, not before what the last one did.
 */
static uint64_t
time_of_others(const struct clock *clock, unsigned vcpu)
{
	const unsigned highest = atomic_load(&clock->highest);
	uint64_t time = quantum_slowest(clock->quantum, vcpu);

	if (time != QUANTUM_NONE)
		return time;
	time = 0;
	for (unsigned i = 0; i < highest; i++) {
		const uint64_t now = atomic_load(&clock->threads[i].now);

		time = i != vcpu && now > time ? now : time;
	}
	return time;
}

/*
 * When a thread continues that was away: at the time of the thread that woke it, or at its deadline; otherwise, if it
 * has slept on the host, at that of the others.
 */
static uint64_t
time_of_return(struct clock *clock, unsigned vcpu, int64_t result)
{
	const struct clock_pending_call *pending = &clock->threads[vcpu].pending;
	const uint64_t deadline = pending->deadline.cycles;
	uint64_t woken = QUANTUM_NONE, expired;

	if (pending->waits_for_futex)
		woken = futex_model_wait_end(clock->futexes, vcpu, result == 0);
	expired = time_of_timer(clock, pending, result);
	if (expired != TIMER_NONE)
		return expired > pending->began ? expired : pending->began;
	if (deadline != QUANTUM_NONE && timed_out(pending, result))
		return deadline;
	if (is_sleep(pending->kind) && is_interrupted(result)) {
		/* a signal: the sleep was as long as on the host, but not longer than the guest asked for */
		const uint64_t slept_ns = monotonic_ns() - pending->host_began;
		const uint64_t now = pending->began + guest_time_cycles(&clock->time, slept_ns);

		return now < deadline ? now : deadline;
	}
	if (woken == QUANTUM_NONE)
		woken = time_of_other_process(clock, pending, result);
	if (woken == QUANTUM_NONE && pending->waits_for_futex && result == -EAGAIN)
		woken = time_of_futex_change(clock, vcpu);
	if (woken == QUANTUM_NONE && !pending->is_alone && host_thread_sleep_count() != pending->sleeps)
		woken = time_of_others(clock, vcpu);
	if (woken == QUANTUM_NONE || woken < pending->began)
		return pending->began;
	return woken < deadline ? woken : deadline;
}

void
clock_call_ended(struct clock *clock, unsigned vcpu, uint64_t now, int64_t result, struct clock_step *step)
{
	struct clock_pending_call *pending;
	struct clock_thread *thread;
	uint64_t returned;

	*step = (struct clock_step){.now = now, .limit = now + clock->step};
	if (vcpu >= CLOCK_VCPUS_MAX)
		return;
	thread = &clock->threads[vcpu];
	pending = &thread->pending;
	if (pending->wakes_futex)
		futex_model_wake_end(clock->futexes, vcpu, result);
	guest_deadline_end(&clock->deadlines, &pending->deadline);
	note_timer(clock, pending, result);
	returned = pending->is_away ? time_of_return(clock, vcpu, result) : now;
	if (returned > now)
		step->blocked_cycles = returned - now;
	step->call_cycles = (uint64_t)clock->setup.machine.call_cycles;
	if (result > 0 && syscall_copies(pending->kind))
		step->call_cycles += (uint64_t)result / COPIED_BYTES_PER_CYCLE;
	step->now += step->blocked_cycles + step->call_cycles;
	step->limit = step->now + clock->step;
	thread->last += step->blocked_cycles; /* share_cores() must not count them */
	atomic_fetch_add(&thread->blocked, step->blocked_cycles);
	atomic_fetch_add(&thread->system, step->call_cycles);
	atomic_store(&thread->now, step->now);
	clock_settle(clock, vcpu, step->now);
	quantum_set_in_call(clock->quantum, vcpu, false);
	if (pending->is_away && !pending->is_alone)
		quantum_return(clock->quantum, vcpu, step->now);
	answer_call(clock, vcpu, result, step->now);
	if (thread->has_result_override)
		step->limit = step->now;
	wait_for_others(clock, vcpu, step->now);
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
	if (clock->threads[vcpu].is_pinned)
		run_clock_set_affinity(clock->run_clock, clock->process, clock->threads[vcpu].affinity);
	/* with one seed, parent and child would choose equal names for temporary files */
	clock->threads[vcpu].random.state ^= ~clock->start;
	atomic_store(&clock->threads[vcpu].began, clock->start);
	atomic_store(&clock->threads[vcpu].blocked, 0);
	atomic_store(&clock->threads[vcpu].system, 0);
	atomic_store(&clock->ended_cycles, 0);
	atomic_store(&clock->ended_system_cycles, 0);
	clock->host_began = monotonic_ns();
	guest_deadlines_init(&clock->deadlines);
	guest_timers_init(&clock->timers); /* timers are not inherited */
	futex_model_fork(clock->futexes);
	quantum_fork(clock->quantum, vcpu);
}
