/* When a thread goes on that was away in a system call. */
#include <signal.h>

#include "emulator/clock/clock_state.h"
#include "emulator/clock/guest_memory.h"
#include "base/clock.h"
#include "emulator/clock/host_thread.h"

/* It waited until its time was over. */
static bool
ran_out(const struct clock_progress *progress, int64_t result)
{
	switch (progress->kind) {
	case CALL_FUTEX:
		return result == RESULT_ETIMEDOUT;
	case CALL_SIGNAL_TIMED_WAIT:
		return result < 0 && result != RESULT_EINTR && result != RESULT_RESTART;
	default:
		return result == 0;
	}
}

/* A signal ended a sleep: it was as long as on the host, but no longer than was asked for. */
static uint64_t
time_of_interruption(const struct clock *clock, const struct clock_progress *progress)
{
	const uint64_t now = progress->began + guest_time_cycles(&clock->time, monotonic_ns() - progress->host_began);

	return now < progress->deadline.cycles ? now : progress->deadline.cycles;
}

/* waitid(kind, number, information, ...): whom it found. */
static pid_t
child_of_information(const struct clock_call *call)
{
	siginfo_t information;

	if (!guest_memory_read(call->arguments[2], call->base, &information, sizeof(information)))
		return 0;
	return information.si_pid;
}

/* When a child ended, or what is read was written; QUANTUM_NONE: not known. */
static uint64_t
time_in_family(struct clock *clock, const struct clock_progress *progress, int64_t result)
{
	if (result < 0)
		return QUANTUM_NONE;
	switch (progress->kind) {
	case CALL_WAIT4:
		return result > 0 ? run_clock_time(clock->run_clock, (pid_t)result) : QUANTUM_NONE;
	case CALL_WAITID:
		return run_clock_time(clock->run_clock, child_of_information(&progress->call));
	case CALL_READ:
	case CALL_READS:
		if (progress->pipe && result > 0)
			return run_clock_pipe_read(clock->run_clock, progress->pipe, progress->began, (uint64_t)result);
		return QUANTUM_NONE;
	case CALL_WRITES:
		if (!progress->pipe)
			return QUANTUM_NONE;
		run_clock_pipe_write_end(clock->run_clock, progress->pipe, progress->began, (uint64_t)result);
		return host_thread_sleep_count() != progress->sleeps
		               ? run_clock_pipe_room(clock->run_clock, progress->pipe)
		               : progress->began;
	default:
		return QUANTUM_NONE;
	}
}

/*
 * It came to wait for what had happened already; the host may have held it up before it could see that, while others
 * went on. When it was at the earliest; QUANTUM_NONE: not known.
 */
static uint64_t
time_of_change(struct clock *clock, unsigned vcpu)
{
	const uint64_t woken =
		futex_model_last_wake(clock->futex_model, clock->threads[vcpu].progress.call.arguments[0]);
	const uint64_t slowest = quantum_slowest(clock->quantum, vcpu);

	if (woken == QUANTUM_NONE || (slowest != QUANTUM_NONE && slowest > woken))
		return slowest;
	return woken;
}

/*
 * When a thread goes on that was away: at the time of who woke it, or when its time was over; else, when it has slept
 * on the host, not before all others, who have run since.
 */
uint64_t
clock_time_of_return(struct clock *clock, unsigned vcpu, int64_t result)
{
	struct clock_progress *progress = &clock->threads[vcpu].progress;
	const bool is_over = progress->deadline.cycles != QUANTUM_NONE && ran_out(progress, result);
	uint64_t woken = QUANTUM_NONE, expired;

	if (progress->waits_for_futex)
		woken = futex_model_wait_end(clock->futex_model, vcpu, result == 0);
	expired = clock_time_of_timer(clock, progress, result);
	if (expired != TIMER_NONE)
		return expired > progress->began ? expired : progress->began;
	if (is_over)
		return progress->deadline.cycles;
	if (clock_is_sleep(progress->kind) && (result == RESULT_EINTR || result == RESULT_RESTART))
		return time_of_interruption(clock, progress);
	if (woken == QUANTUM_NONE)
		woken = time_in_family(clock, progress, result);
	if (woken == QUANTUM_NONE && progress->waits_for_futex && result == RESULT_EAGAIN)
		woken = time_of_change(clock, vcpu);
	if (woken == QUANTUM_NONE && !progress->is_alone && host_thread_sleep_count() != progress->sleeps)
		woken = quantum_slowest(clock->quantum, vcpu);
	if (woken == QUANTUM_NONE || woken < progress->began)
		return progress->began;
	return woken < progress->deadline.cycles ? woken : progress->deadline.cycles;
}
