#include "emulator/clock/guest_view.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "emulator/clock/guest_memory.h"

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

void
guest_view_answer(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now)
{
	const struct clock_thread *thread = &clock->threads[vcpu];
	const struct clock_call *call = &thread->progress.call;

	if (result < 0)
		return;
	switch (thread->progress.kind) {
	case CALL_CLOCK_GETTIME:
		answer_clock(clock, thread, now);
		return;
	case CALL_GETTIMEOFDAY:
		answer_time_of_day(clock, call, now);
		return;
	case CALL_GETRUSAGE:
		answer_usage(clock, thread, now);
		return;
	default:
		return;
	}
}
