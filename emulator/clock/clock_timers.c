/* Timers that the guest sets, and whom they wake. */
#include <sys/time.h>

#include "emulator/clock/clock_state.h"
#include "emulator/clock/guest_memory.h"
#include "base/clock.h"
#include "emulator/clock/host_thread.h"

/* The interval comes first, whatever is set. */
static uint64_t
read_interval(enum guest_call kind, const struct clock_call *call)
{
	struct timespec interval = {0};

	if (kind == CALL_ALARM || !guest_memory_read(call->arguments[kind == CALL_SETITIMER ? 1 : 2], call->base,
	                                             &interval, sizeof(interval)))
		return 0;
	if (interval.tv_sec < 0 || interval.tv_sec > INT32_MAX || interval.tv_nsec < 0)
		return 0;
	return (uint64_t)interval.tv_sec * 1000000000U +
	       (uint64_t)interval.tv_nsec * (kind == CALL_SETITIMER ? 1000 : 1);
}

static void
set_timer(struct clock *clock, const struct clock_progress *progress, enum guest_timer_kind kind, int id)
{
	const uint64_t expires = progress->deadline.cycles;
	struct guest_timer timer = {.kind = kind, .id = id, .expires = expires};

	if (expires == QUANTUM_NONE) {
		guest_timers_clear(&clock->timers, kind, id);
		return;
	}
	timer.interval_ns = read_interval(progress->kind, &progress->call);
	timer.host_ns = monotonic_ns() + guest_time_ns(&clock->time, expires - progress->began);
	guest_timers_set(&clock->timers, &timer);
}

void
clock_timer_ended(struct clock *clock, const struct clock_progress *progress, int64_t result)
{
	const int id = (int)progress->call.arguments[0];

	if (result < 0)
		return;
	switch (progress->kind) {
	case CALL_SETITIMER:
		if (id == ITIMER_REAL)
			set_timer(clock, progress, TIMER_INTERVAL, 0);
		return;
	case CALL_ALARM:
		set_timer(clock, progress, TIMER_INTERVAL, 0);
		return;
	case CALL_TIMER_SET:
		set_timer(clock, progress, TIMER_POSIX, id);
		return;
	case CALL_TIMER_DELETE:
		guest_timers_clear(&clock->timers, TIMER_POSIX, id);
		return;
	case CALL_TIMERFD_SET:
		set_timer(clock, progress, TIMER_DESCRIPTOR, id);
		return;
	case CALL_CLOSE:
		guest_timers_clear(&clock->timers, TIMER_DESCRIPTOR, id);
		return;
	default:
		return;
	}
}

uint64_t
clock_time_of_timer(struct clock *clock, const struct clock_progress *progress, int64_t result)
{
	const bool is_signal = result == RESULT_EINTR || result == RESULT_RESTART ||
	                       (progress->kind == CALL_SIGNAL_TIMED_WAIT && result > 0);

	if (is_signal)
		return guest_timers_signal(&clock->timers, &clock->time, monotonic_ns());
	if (progress->kind == CALL_READ && result == sizeof(uint64_t))
		return guest_timers_read(&clock->timers, &clock->time, (int)progress->call.arguments[0],
		                         monotonic_ns());
	return TIMER_NONE;
}
