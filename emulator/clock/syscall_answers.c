/* What the guest is told of time, processors and random numbers, in the place of the kernel's answer. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emulator/clock/clock_internal.h"
#include "emulator/clock/guest_state.h"

#define TICKS_PER_S 100 /* of times(), on each architecture */
#define NS_PER_TICK (1000000000 / TICKS_PER_S)

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

		clock_cpu_time(clock, &cpu);
		cycles = cpu.all;
	} else if (id == CLOCK_THREAD_CPUTIME_ID) {
		cycles = clock_thread_cpu_cycles(thread, now);
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
	clock_cpu_time(clock, &own);
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
		cpu = (struct cpu_time){clock_thread_cpu_cycles(thread, now), atomic_load(&thread->system)};
	else if (subject == RUSAGE_CHILDREN)
		children_cpu_time(clock, &cpu);
	else
		clock_cpu_time(clock, &cpu);
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
 * which the target may have; when it succeeded, the host's thread must not stay on them. A thread that moves keeps
 * the caches of the core on which it began.
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
	run_clock_set_affinity(clock->run_clock, subject, mask);
	for (unsigned i = 0; i < highest; i++)
		if (clock->threads[i].is_alive && clock->threads[i].host_thread == subject)
			clock->threads[i].core = (unsigned)first;
}

/* getcpu(core, node) */
static void
answer_core(const struct clock *clock, const struct clock_thread *thread)
{
	const struct clock_call *call = &thread->pending.call;
	const struct machine *machine = &clock->setup.machine;
	const uint32_t core = thread->core;
	const uint32_t node = machine->nodes > 1 ? core / (machine->cores / machine->nodes) : 0;

	guest_memory_write(call->arguments[0], call->base, &core, sizeof(core));
	guest_memory_write(call->arguments[1], call->base, &node, sizeof(node));
}

void
clock_answer_call(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now)
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
