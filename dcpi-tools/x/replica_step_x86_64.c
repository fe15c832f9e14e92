/* The replica steps itself (replica/replica_x86_64.c): it is told to begin, and says when it has come to the end. */
#if defined(__x86_64__)
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "dcpi-tools/x/replica_state.h"

int
replica_prepare(void)
{
	return 0;
}

/* It says so when it is ready for the next burst. */
static int
wait_until_ready(const struct replica *replica, uint64_t limit_ns)
{
	struct pollfd control = {.fd = replica->control, .events = POLLIN};
	const struct timespec limit = {(time_t)(limit_ns / SECOND_NS), (long)(limit_ns % SECOND_NS)};
	char byte;
	int count;

	while ((count = ppoll(&control, 1, &limit, NULL)) < 0)
		if (errno != EINTR)
			return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	return recv(replica->control, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EPIPE;
}

int
replica_begin(struct replica *replica)
{
	return wait_until_ready(replica, REPLICA_BEGIN_NS);
}

static int
hand_over(struct replica *replica, const struct seized *seized, size_t steps)
{
	struct replica_shared *shared = replica->shared;
	struct iovec part = {shared->vectors, sizeof(shared->vectors)};

	if (ptrace(PTRACE_GETREGSET, seized->tid, (void *)NT_X86_XSTATE, &part) < 0)
		return -errno;
	shared->vectors_size = (uint32_t)part.iov_len;
	shared->registers = seized->registers;
	shared->steps_max = (uint32_t)steps;
	shared->must_end = 0;
	shared->end = 0;
	shared->count = 0;
	return send(replica->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

/* When it takes too long, what it has by then must do: its thread goes on, and then memory is another. */
int
replica_execute_shared(struct replica *replica, const struct seized *seized, size_t steps, uint64_t limit_ns)
{
	int err;

	if (replica->is_busy && wait_until_ready(replica, 0))
		return monotonic_ns() - replica->begin_ns > REPLICA_BEGIN_NS ? -EPIPE : -EBUSY;
	replica->begin_ns = monotonic_ns();
	err = hand_over(replica, seized, steps);
	if (!err)
		err = wait_until_ready(replica, limit_ns);
	replica->is_busy = err == -ETIMEDOUT;
	if (replica->is_busy)
		__atomic_store_n(&replica->shared->must_end, 1, __ATOMIC_RELAXED);
	return replica->is_busy ? 0 : err;
}
#endif
