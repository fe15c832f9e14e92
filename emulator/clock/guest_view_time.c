/* The time of day, of the machine, and of processors. */
#include <sys/resource.h>
#include <sys/time.h>

#include "emulator/clock/guest_memory.h"
#include "emulator/clock/guest_view.h"

#define TICKS_PER_S 100 /* of times(), on each architecture */
#define NS_PER_TICK (1000000000 / TICKS_PER_S)

static uint64_t
thread_cpu_cycles(const struct clock_thread *thread, uint64_t now)
{
	const uint64_t away = atomic_load(&thread->began) + atomic_load(&thread->blocked);

	return now > away ? now - away : 0;
}

void
clock_cpu_time(const struct clock *clock, struct cpu_time *busy)
{
	const unsigned highest = atomic_load(&clock->highest);

	*busy = clock->before;
	busy->all += atomic_load(&clock->ended_cycles);
	busy->system += atomic_load(&clock->ended_system_cycles);
	for (unsigned i = 0; i < highest; i++) {
		const struct clock_thread *thread = &clock->threads[i];

		if (!thread->is_alive)
			continue;
		busy->all += thread_cpu_cycles(thread, atomic_load(&thread->now));
		busy->system += atomic_load(&thread->system);
	}
}

static void
children_cpu_time(struct clock *clock, struct cpu_time *busy)
{
	pthread_mutex_lock(&clock->lock);
	*busy = clock->children;
	pthread_mutex_unlock(&clock->lock);
}

static void
answer_clock(const struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	const int id = (int)call->arguments[0];
	struct cpu_time busy;
	struct timespec shown;
	uint64_t cycles = now;

	if (id == CLOCK_PROCESS_CPUTIME_ID) {
		clock_cpu_time(clock, &busy);
		cycles = busy.all;
	} else if (id == CLOCK_THREAD_CPUTIME_ID) {
		cycles = thread_cpu_cycles(thread, now);
	}
	if (guest_time_read(&clock->time, id, cycles, &shown))
		guest_memory_write(call->arguments[1], call->base, &shown, sizeof(shown));
}

static void
answer_time_of_day(const struct clock *clock, const struct clock_call *call, uint64_t now)
{
	struct timespec shown;
	struct timeval time;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	time = (struct timeval){.tv_sec = shown.tv_sec, .tv_usec = shown.tv_nsec / 1000};
	guest_memory_write(call->arguments[0], call->base, &time, sizeof(time));
}

static struct timeval
as_timeval(const struct clock *clock, uint64_t cycles)
{
	const uint64_t ns = guest_time_ns(&clock->time, cycles);

	return (struct timeval){.tv_sec = (time_t)(ns / 1000000000U),
	                        .tv_usec = (suseconds_t)(ns % 1000000000U / 1000)};
}

/* A struct rusage begins with the user's time and the system's. */
static void
write_usage(const struct clock *clock, const struct clock_call *call, uint64_t address, const struct cpu_time *busy)
{
	const struct timeval times[] = {
		as_timeval(clock, busy->all > busy->system ? busy->all - busy->system : 0),
		as_timeval(clock, busy->system),
	};

	guest_memory_write(address, call->base, times, sizeof(times));
}

static void
answer_usage(struct clock *clock, const struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	const int who = (int)call->arguments[0];
	struct cpu_time busy;

	if (who == RUSAGE_THREAD)
		busy = (struct cpu_time){thread_cpu_cycles(thread, now), atomic_load(&thread->system)};
	else if (who == RUSAGE_CHILDREN)
		children_cpu_time(clock, &busy);
	else
		clock_cpu_time(clock, &busy);
	write_usage(clock, call, call->arguments[1], &busy);
}

/* wait4(process, status, options, usage): a child has ended, and what it had is counted from now on. */
static void
answer_wait(struct clock *clock, const struct clock_call *call, int64_t result)
{
	struct cpu_time busy;

	if (result <= 0)
		return;
	run_clock_cpu_time(clock->run_clock, (pid_t)result, &busy);
	pthread_mutex_lock(&clock->lock);
	clock->children.all += busy.all;
	clock->children.system += busy.system;
	pthread_mutex_unlock(&clock->lock);
	write_usage(clock, call, call->arguments[3], &busy);
}

static void
answer_seconds(const struct clock *clock, struct clock_thread *thread, uint64_t now)
{
	const struct clock_call *call = &thread->progress.call;
	struct timespec shown;
	int64_t seconds;

	guest_time_read(&clock->time, CLOCK_REALTIME, now, &shown);
	seconds = shown.tv_sec;
	guest_memory_write(call->arguments[0], call->base, &seconds, sizeof(seconds));
	guest_view_change_result(thread, seconds);
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
	const struct clock_call *call = &thread->progress.call;
	struct cpu_time own, children;
	int64_t ticks[4];
	struct timespec shown;

	guest_time_read(&clock->time, CLOCK_MONOTONIC, now, &shown);
	clock_cpu_time(clock, &own);
	children_cpu_time(clock, &children);
	ticks[0] = as_ticks(clock, own.all > own.system ? own.all - own.system : 0);
	ticks[1] = as_ticks(clock, own.system);
	ticks[2] = as_ticks(clock, children.all > children.system ? children.all - children.system : 0);
	ticks[3] = as_ticks(clock, children.system);
	guest_memory_write(call->arguments[0], call->base, ticks, sizeof(ticks));
	guest_view_change_result(thread, (int64_t)shown.tv_sec * TICKS_PER_S + shown.tv_nsec / NS_PER_TICK);
}

void
guest_view_answer_time(struct clock *clock, struct clock_thread *thread, int64_t result, uint64_t now)
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
	case CALL_WAIT4:
		answer_wait(clock, &thread->progress.call, result);
		return;
	default:
		return;
	}
}
