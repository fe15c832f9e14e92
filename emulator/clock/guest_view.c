#include "emulator/clock/guest_view.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "emulator/clock/guest_cpus.h"
#include "emulator/clock/guest_memory.h"

static void
answer_random(struct clock *clock, struct clock_thread *thread, uint64_t address, int64_t result)
{
	uint8_t bytes[256];

	if (!clock->setup.seed)
		return;
	for (int64_t done = 0; done < result;) {
		const size_t size = (size_t)(result - done) < sizeof(bytes) ? (size_t)(result - done) : sizeof(bytes);

		guest_random_fill(&thread->random, bytes, size);
		guest_memory_write(address + (uint64_t)done, thread->progress.call.base, bytes, size);
		done += (int64_t)size;
	}
}

/* /dev/random and /dev/urandom */
static void
answer_read(struct clock *clock, struct clock_thread *thread, int64_t result)
{
	const struct clock_call *call = &thread->progress.call;
	struct stat file;

	if (fstat((int)call->arguments[0], &file) == 0 && S_ISCHR(file.st_mode) && major(file.st_rdev) == 1 &&
	    (minor(file.st_rdev) == 8 || minor(file.st_rdev) == 9))
		answer_random(clock, thread, call->arguments[1], result);
}

static void
answer_open(const struct clock *clock, const struct clock_call *call, unsigned path, int64_t result)
{
	char text[GUEST_CPUS_PATH_MAX];

	if (guest_memory_read_string(call->arguments[path], call->base, text, sizeof(text)) && guest_cpus_tells(text))
		(void)guest_cpus_replace((int)result, text, clock->setup.threads,
		                         call->arguments[path + 1] & O_CLOEXEC);
}

/* Whose processors a call is about. */
static pid_t
subject_of(const struct clock_thread *caller)
{
	const pid_t number = (pid_t)caller->progress.call.arguments[0];

	return number ? number : caller->host_thread;
}

/*
 * sched_getaffinity(thread, size, mask): the kernel wrote `result` bytes, enough for the host's processors. For the
 * target's there may be more, or no room, which programs are told so that they ask with more.
 */
static void
answer_affinity(const struct clock *clock, struct clock_thread *caller, int64_t result)
{
	const struct clock_call *call = &caller->progress.call;
	const size_t needed = guest_cpus_mask_size(clock->setup.threads);
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];
	size_t size = (size_t)result < sizeof(mask) ? (size_t)result : sizeof(mask);

	if (call->arguments[1] < needed) {
		guest_view_change_result(caller, RESULT_EINVAL);
		return;
	}
	if (size < needed) {
		size = needed;
		guest_view_change_result(caller, (int64_t)needed);
	}
	if (!run_clock_affinity(clock->run_clock, subject_of(caller), mask))
		guest_cpus_mask(mask, sizeof(mask), clock->setup.threads);
	guest_memory_write(call->arguments[2], call->base, mask, size);
}

/* Its caches are those of that core from the next thread on that has its virtual CPU. */
static void
move_thread(struct clock *clock, pid_t subject, int core)
{
	const unsigned highest = atomic_load(&clock->highest);

	for (unsigned i = 0; i < highest; i++)
		if (clock->threads[i].is_alive && clock->threads[i].host_thread == subject)
			clock->threads[i].core = (unsigned)core;
}

/*
 * sched_setaffinity(thread, size, mask): the host may have no such processor, or it has, and the host's thread must not
 * stay there.
 */
static void
set_affinity(struct clock *clock, struct clock_thread *caller, int64_t result)
{
	const struct clock_call *call = &caller->progress.call;
	const pid_t subject = subject_of(caller);
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE] = {0}, all[RUN_CLOCK_AFFINITY_SIZE];
	const size_t size = call->arguments[1] < sizeof(mask) ? (size_t)call->arguments[1] : sizeof(mask);
	int first;

	if ((result < 0 && result != RESULT_EINVAL) || !guest_memory_read(call->arguments[2], call->base, mask, size))
		return;
	if (result == 0)
		(void)sched_setaffinity(subject, sizeof(clock->host_affinity), &clock->host_affinity);
	guest_cpus_mask(all, sizeof(all), clock->setup.threads);
	for (size_t i = 0; i < sizeof(mask); i++)
		mask[i] &= all[i];
	first = guest_cpus_first(mask, sizeof(mask));
	guest_view_change_result(caller, first < 0 ? RESULT_EINVAL : 0);
	if (first < 0)
		return;
	run_clock_set_affinity(clock->run_clock, subject, mask);
	move_thread(clock, subject, first);
}

static void
answer_core(const struct clock *clock, const struct clock_thread *thread)
{
	const struct clock_call *call = &thread->progress.call;
	const struct machine *machine = &clock->setup.machine;
	const uint32_t core = thread->core;
	const uint32_t node = machine->nodes > 1 ? core / (machine->cores / machine->nodes) : 0;

	guest_memory_write(call->arguments[0], call->base, &core, sizeof(core));
	guest_memory_write(call->arguments[1], call->base, &node, sizeof(node));
}

void
guest_view_answer(struct clock *clock, unsigned vcpu, int64_t result, uint64_t now)
{
	struct clock_thread *thread = &clock->threads[vcpu];
	const struct clock_call *call = &thread->progress.call;

	if (thread->progress.kind == CALL_SETAFFINITY) {
		set_affinity(clock, thread, result);
		return;
	}
	if (result < 0)
		return;
	guest_view_answer_time(clock, thread, result, now);
	switch (thread->progress.kind) {
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
