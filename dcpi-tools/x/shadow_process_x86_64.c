/* The shadow process steps itself (shadow/shadow_x86_64.c): a byte begins a burst, a byte back says that it has ended.
 */
#if defined(__x86_64__)
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "dcpi-tools/x/shadow_process_internal.h"

int
shadow_process_prepare(void)
{
	return 0;
}

/* It says so when it is ready for the next burst. */
static int
wait_until_ready(const struct shadow_process *shadow, uint64_t limit_ns)
{
	struct pollfd control = {.fd = shadow->control, .events = POLLIN};
	const struct timespec limit = {(time_t)(limit_ns / SECOND_NS), (long)(limit_ns % SECOND_NS)};
	char byte;
	int count;

	while ((count = ppoll(&control, 1, &limit, NULL)) < 0)
		if (errno != EINTR)
			return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	return recv(shadow->control, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EPIPE;
}

int
shadow_process_begin(struct shadow_process *shadow)
{
	return wait_until_ready(shadow, SHADOW_BEGIN_NS);
}

static int
hand_over(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps)
{
	struct shadow_shared *shared = shadow->shared;
	struct iovec part = {shared->vectors, sizeof(shared->vectors)};

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &part) < 0)
		return -errno;
	shared->vectors_size = (uint32_t)part.iov_len;
	shared->registers = thread->registers;
	shared->steps_max = (uint32_t)steps;
	shared->must_end = 0;
	shared->end = 0;
	shared->count = 0;
	return send(shadow->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

/* At the time limit the burst is what was executed until then: its thread goes on, and changes memory. */
int
shadow_process_execute_shared(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                              uint64_t limit_ns)
{
	int err;

	if (shadow->is_busy && wait_until_ready(shadow, 0))
		return monotonic_ns() - shadow->begin_ns > SHADOW_BEGIN_NS ? -EPIPE : -EBUSY;
	shadow->begin_ns = monotonic_ns();
	err = hand_over(shadow, thread, steps);
	if (!err)
		err = wait_until_ready(shadow, limit_ns);
	shadow->is_busy = err == -ETIMEDOUT;
	if (shadow->is_busy)
		__atomic_store_n(&shadow->shared->must_end, 1, __ATOMIC_RELAXED);
	return shadow->is_busy ? 0 : err;
}
#endif
