#include "emulator/clock/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulator/clock/clock_internal.h"
#include "emulator/clock/guest_state.h"
#include "emulator/clock/host_thread.h"

#define STEP_CYCLES            50000  /* without a quantum, between two calls of clock_reached() */
#define COPIED_BYTES_PER_CYCLE 8      /* by a system call: a line of 64 bytes in 8 cycles */
#define RESULT_RESTART         (-512) /* QEMU's: a signal came, the call is made again */

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

/* A program that was executed starts at the time of the exec call. */
static void
join_run(struct clock *clock)
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
	int err;

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
	/* flags, stack, parent's, child's, thread's memory; other targets have the last two the other way round */
	clock->child_argument = strcmp(target, "x86_64") == 0 ? 3 : 4;
	clock->run_clock = run_clock_new(directory);
	if (!clock->run_clock)
		goto fail;
	join_run(clock);
	clock->delay = delay_new(&clock->setup, &clock->time, clock->run_clock);
	if (!clock->delay)
		goto fail;
	clock->syscalls = syscalls_new(target);
	if (!clock->syscalls)
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
	syscalls_free(clock->syscalls);
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

/* Note that the calling thread of the host is that of `vcpu`. */
static void
bind_thread(struct clock *clock, unsigned vcpu)
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
	parent = find_caller(clock);
	if (!parent) /* the emulator may announce a thread on the new thread itself */
		parent = atomic_load(&clock->cloning);
	now = parent ? atomic_load(&parent->now) : clock->start;
	memset(&thread->pending, 0, sizeof(thread->pending));
	thread->core = choose_core(clock, !parent);
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
	pthread_mutex_unlock(&clock->lock);
	quantum_end(clock->quantum, vcpu);
}

unsigned
clock_thread_core(const struct clock *clock, unsigned vcpu)
{
	return vcpu < CLOCK_VCPUS_MAX ? clock->threads[vcpu].core : 0;
}

uint64_t
clock_thread_cpu_cycles(const struct clock_thread *thread, uint64_t now)
{
	const uint64_t away = atomic_load(&thread->began) + atomic_load(&thread->blocked);

	return now > away ? now - away : 0;
}

void
clock_cpu_time(const struct clock *clock, struct cpu_time *cpu)
{
	const unsigned highest = atomic_load(&clock->highest);

	*cpu = clock->before;
	cpu->all += atomic_load(&clock->ended_cycles);
	cpu->system += atomic_load(&clock->ended_system_cycles);
	for (unsigned i = 0; i < highest; i++) {
		const struct clock_thread *thread = &clock->threads[i];

		if (!thread->is_alive)
			continue;
		cpu->all += clock_thread_cpu_cycles(thread, atomic_load(&thread->now));
		cpu->system += atomic_load(&thread->system);
	}
}

/* A thread executes. */

/*
 * With more threads than cores each has its share of them: what the others had meanwhile is added to a thread's clock.
 * The target's scheduler is assumed to be perfect: no core is idle while a thread is ready.
 */
static uint64_t
share_cores(const struct clock *clock, uint64_t cycles)
{
	const uint64_t running = quantum_running(clock->quantum);
	const uint64_t cores = clock->setup.threads ? clock->setup.threads : 1;

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
		if (arguments[0] & CLONE_CHILD_CLEARTID)
			pending->child_address = arguments[clock->child_argument];
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
		clock_cpu_time(clock, &cpu);
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
	const enum syscall_kind kind = syscalls_kind(clock->syscalls, call->number);
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

/* waitid(kind, number, information, ...): the child that it found; 0. */
static pid_t
child_of_waitid(const struct clock_call *call)
{
	siginfo_t information;

	if (!guest_memory_read(call->arguments[2], call->base, &information, sizeof(information)))
		return 0;
	return information.si_pid;
}

/* When a child ended, or the data that was read was written, or a pipe had room; QUANTUM_NONE: not known. */
static uint64_t
time_of_other_process(struct clock *clock, const struct clock_pending_call *pending, int64_t result)
{
	if (result < 0)
		return QUANTUM_NONE;
	switch (pending->kind) {
	case CALL_WAIT4:
		return result > 0 ? run_clock_time(clock->run_clock, (pid_t)result) : QUANTUM_NONE;
	case CALL_WAITID:
		return run_clock_time(clock->run_clock, child_of_waitid(&pending->call));
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
 * When a thread continues that was away: at the time of the thread that woke it, or at its deadline; otherwise, if it
 * has slept on the host, not before all other threads, which have run since.
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
		woken = quantum_slowest(clock->quantum, vcpu);
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
	clock_answer_call(clock, vcpu, result, step->now);
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
