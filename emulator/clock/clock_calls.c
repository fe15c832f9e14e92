/* What system calls do to a thread's clock. */
#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>

#include "emulator/clock/clock_state.h"
#include "emulator/clock/guest_view.h"
#include "base/clock.h"
#include "emulator/clock/host_thread.h"

/* futex(address, operation, value, timeout or value2, address2, value3) */
static void
futex_began(struct clock *clock, unsigned vcpu, struct clock_progress *progress)
{
	const uint64_t *arguments = progress->call.arguments;
	struct futex_wake wake = {.address = arguments[0], .count = (uint32_t)arguments[2]};

	switch (arguments[1] & FUTEX_CMD_MASK & UINT32_MAX) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		progress->waits_for_futex = true;
		futex_model_wait_begin(clock->futex_model, vcpu, wake.address);
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
	progress->wakes_futex = true;
	futex_model_wake_begin(clock->futex_model, vcpu, &wake, progress->began);
}

/* The kernel wakes whoever joins the thread. */
static void
thread_exits(struct clock *clock, unsigned vcpu, uint64_t now)
{
	const struct futex_wake wake = {.address = clock->threads[vcpu].child_address, .count = UINT32_MAX};

	if (!wake.address)
		return;
	futex_model_wake_begin(clock->futex_model, vcpu, &wake, now);
	futex_model_wake_end(clock->futex_model, vcpu, UINT32_MAX);
}

/* What of the call is to be known before others can see its effect. */
static void
note_kind(struct clock *clock, unsigned vcpu)
{
	struct clock_thread *thread = &clock->threads[vcpu];
	struct clock_progress *progress = &thread->progress;
	const uint64_t *arguments = progress->call.arguments;
	struct cpu_time busy;

	switch (progress->kind) {
	case CALL_FUTEX:
		futex_began(clock, vcpu, progress);
		return;
	case CALL_CLONE:
		if (arguments[0] & CLONE_CHILD_CLEARTID)
			progress->child_address = arguments[clock->child_argument];
		if ((arguments[0] & (CLONE_VM | CLONE_VFORK)) == CLONE_VM)
			atomic_store(&clock->cloning, thread);
		return;
	case CALL_SET_CHILD_ADDRESS:
		thread->child_address = arguments[0];
		return;
	case CALL_READ:
	case CALL_READS:
		progress->pipe = run_clock_pipe((int)arguments[0]);
		return;
	case CALL_WRITES:
		progress->pipe = run_clock_pipe((int)arguments[0]);
		if (progress->pipe)
			run_clock_pipe_write_begin(clock->run_clock, progress->pipe, progress->began);
		return;
	case CALL_EXIT_GROUP:
		quantum_release_all(clock->quantum);
		/* fall through */
	case CALL_EXEC:
		clock_cpu_time(clock, &busy);
		run_clock_set_cpu_time(clock->run_clock, clock->process, &busy);
		return;
	case CALL_EXIT:
		thread_exits(clock, vcpu, progress->began);
		return;
	default:
		return;
	}
}

/* How much slower than the target others run, whom the thread is about to wait for. */
static double
stretch_of_waits(const struct clock *clock, unsigned vcpu, uint64_t now)
{
	const double host_ns = (double)(monotonic_ns() - clock->host_began);
	const double ns = (double)guest_time_ns(&clock->time, now - clock->start);

	if (now <= clock->start || quantum_slowest(clock->quantum, vcpu) == QUANTUM_NONE || host_ns <= ns)
		return 1;
	return host_ns / ns;
}

void
clock_call_began(struct clock *clock, unsigned vcpu, uint64_t now, const struct clock_call *call)
{
	const enum guest_call kind = guest_call_of(clock->calls, call->number);
	struct clock_thread *thread;

	if (vcpu >= CLOCK_VCPUS_MAX)
		return;
	thread = &clock->threads[vcpu];
	thread->progress = (struct clock_progress){.call = *call, .kind = kind, .began = now};
	thread->progress.deadline.cycles = QUANTUM_NONE;
	clock_bind_thread(clock, vcpu);
	thread->counters->calls++;
	atomic_store(&thread->now, now);
	run_clock_set_time(clock->run_clock, clock->process, now);
	clock_settle(clock, vcpu, now);
	quantum_set_in_call(clock->quantum, vcpu, true);
	note_kind(clock, vcpu);
	if (guest_call_sets_timer(kind))
		guest_deadline_begin(&clock->deadlines, &clock->time, kind, call, now, 1, &thread->progress.deadline);
	if (!guest_call_may_block(kind) || thread->progress.wakes_futex)
		return;
	thread->progress.is_away = true;
	guest_deadline_begin(&clock->deadlines, &clock->time, kind, call, now,
	                     kind == CALL_FUTEX ? stretch_of_waits(clock, vcpu, now) : 1, &thread->progress.deadline);
	if (clock_is_sleep(kind))
		thread->progress.host_began = monotonic_ns();
	/* what costs system calls, and is asked only for what others do meanwhile */
	thread->progress.is_alone = atomic_load(&clock->highest) == 1;
	if (!thread->progress.is_alone || thread->progress.pipe)
		thread->progress.sleeps = host_thread_sleep_count();
	if (thread->progress.is_alone)
		return;
	if (clock_is_sleep(kind) && thread->progress.deadline.cycles != QUANTUM_NONE)
		quantum_sleep(clock->quantum, vcpu, thread->progress.deadline.cycles);
	else
		quantum_leave(clock->quantum, vcpu);
}

/* What the call costs its core. */
static uint64_t
cost_of_call(const struct clock *clock, const struct clock_progress *progress, int64_t result)
{
	uint64_t cycles = (uint64_t)clock->setup.machine.call_cycles;

	if (result > 0 && guest_call_copies(progress->kind))
		cycles += (uint64_t)result / COPIED_BYTES_A_CYCLE;
	return cycles;
}

void
clock_call_ended(struct clock *clock, unsigned vcpu, uint64_t now, int64_t result, struct clock_step *step)
{
	struct clock_thread *thread;
	struct clock_progress *progress;
	uint64_t returned;

	*step = (struct clock_step){.now = now, .limit = now + clock->step};
	if (vcpu >= CLOCK_VCPUS_MAX)
		return;
	thread = &clock->threads[vcpu];
	progress = &thread->progress;
	if (progress->wakes_futex)
		futex_model_wake_end(clock->futex_model, vcpu, result);
	guest_deadline_end(&clock->deadlines, &progress->deadline);
	clock_timer_ended(clock, progress, result);
	returned = progress->is_away ? clock_time_of_return(clock, vcpu, result) : now;
	if (returned > now)
		step->blocked_cycles = returned - now;
	step->call_cycles = cost_of_call(clock, progress, result);
	step->now += step->blocked_cycles + step->call_cycles;
	step->limit = step->now + clock->step;
	thread->last += step->blocked_cycles; /* others had no share of that */
	atomic_fetch_add(&thread->blocked, step->blocked_cycles);
	atomic_fetch_add(&thread->system, step->call_cycles);
	atomic_store(&thread->now, step->now);
	clock_settle(clock, vcpu, step->now);
	quantum_set_in_call(clock->quantum, vcpu, false);
	if (progress->is_away && !progress->is_alone)
		quantum_return(clock->quantum, vcpu, step->now);
	guest_view_answer(clock, vcpu, result, step->now);
	if (thread->has_pending_result)
		step->limit = step->now;
	clock_keep_near(clock, vcpu, step->now);
}
