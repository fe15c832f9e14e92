/* The time of day, of the machine, and of processors. */
#include <sys/resource.h>
#include <sys/time.h>

#include "emulator/clock/guest_memory.h"
#include "emulator/clock/guest_view.h"

#define TICKS_PER_S 100 /* of times(), on each architecture */
#define NS_PER_TICK (1000000000 / TICKS_PER_S)

/* Cycles that threads had a core for: one of them, or all that the process had. */
static uint64_t
thread_busy(const struct clock_thread *thread, uint64_t now)
{
	const uint64_t away = atomic_load(&thread->began) + atomic_load(&thread->blocked);

	return now > away ? now - away : 0;
}

struct busy {
	uint64_t all, called;
};

static struct busy
process_busy(const struct clock *clock)
{
	struct busy busy = {atomic_load(&clock->ended_busy), atomic_load(&clock->ended_called)};
	const unsigned highest = atomic_load(&clock->highest);

	for (unsigned i = 0; i < highest; i++) {
		const struct clock_thread *thread = &clock->threads[i];

		if (!thread->is_alive)
			continue;
		busy.all += thread_busy(thread, atomic_load(&thread->now));
		busy.called += atomic_load(&thread->called);
	}
	return busy;
}

static void
answer_clock(const struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	const int id = (int)call->arguments[0];
	struct timespec shown;
	uint64_t cycles = now;

	if (id == CLOCK_PROCESS_CPUTIME_ID)
		cycles = process_busy(clock).all;
	else if (id == CLOCK_THREAD_CPUTIME_ID)
		cycles = thread_busy(thread, now);
	if (guest_time_read(&clock->time, id, cycles, &shown))
		guest_write(call->arguments[1], call->base, &shown, sizeof(shown));
}

static void
answer_time_of_day(const struct clock *clock, const struct clock_call *call, uint64_t now)
{
	struct timespec shown;
	struct timeval time;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	time = (struct timeval){.tv_sec = shown.tv_sec, .tv_usec = shown.tv_nsec / 1000};
	guest_write(call->arguments[0], call->base, &time, sizeof(time));
}

static struct timeval
as_timeval(const struct clock *clock, uint64_t cycles)
{
	const uint64_t ns = guest_time_ns(&clock->time, cycles);

	return (struct timeval){.tv_sec = (time_t)(ns / 1000000000U),
	                        .tv_usec = (suseconds_t)(ns % 1000000000U / 1000)};
}

static void
answer_usage(const struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	const int who = (int)call->arguments[0];
	struct busy busy = process_busy(clock);
	struct timeval times[2]; /* a struct rusage begins with the user's and the system's */

	if (who == RUSAGE_THREAD)
		busy = (struct busy){thread_busy(thread, now), atomic_load(&thread->called)};
	else if (who != RUSAGE_SELF)
		return;
	times[0] = as_timeval(clock, busy.all > busy.called ? busy.all - busy.called : 0);
	times[1] = as_timeval(clock, busy.called);
	guest_write(call->arguments[1], call->base, times, sizeof(times));
}

static void
answer_seconds(const struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	struct timespec shown;
	int64_t seconds;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	seconds = shown.tv_sec;
	guest_write(call->arguments[0], call->base, &seconds, sizeof(seconds));
	guest_view_change_result(thread, seconds);
}

/* times(): struct tms, in ticks; the result is how many there were since the machine was started. */
static void
answer_ticks(const struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	const struct busy busy = process_busy(clock);
	const uint64_t user = busy.all > busy.called ? busy.all - busy.called : 0;
	const int64_t own[] = {
		(int64_t)(guest_time_ns(&clock->time, user) / NS_PER_TICK),
		(int64_t)(guest_time_ns(&clock->time, busy.called) / NS_PER_TICK),
	};
	struct timespec shown;

	guest_time_read(&clock->time, CLOCK_MONOTONIC, now, &shown);
	guest_write(call->arguments[0], call->base, own, sizeof(own));
	guest_view_change_result(thread, (int64_t)shown.tv_sec * TICKS_PER_S + shown.tv_nsec / NS_PER_TICK);
}

void
guest_view_answer_time(struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	switch (thread->progress.kind) {
	case CALL_CLOCK_GETTIME:
		answer_clock(clock, thread, now);
		return;
	case CALL_GETTIMEOFDAY:
		answer_time_of_day(clock, &thread->progress.call, now);
		return;
	case CALL_GETRUSAGE:
		answer_usage(clock, thread, now);
		return;
	case CALL_TIME:
		answer_seconds(clock, thread, now);
		return;
	case CALL_TIMES:
		answer_ticks(clock, thread, now);
		return;
	default:
		return;
	}
}
