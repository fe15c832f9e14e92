#include "dcpi-tools/x/replica_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/common/child.h"
#include "dcpi-tools/x/replica_state.h"

#define REPLICA_NAME  "dcpi-replica"
#define FIRST_FREE_FD (REPLICA_SHARED + 1)
#define SPACE_MAX     (UINT64_C(64) << 20) /* more than it may copy, less than a hostile program would like */

/* What its program is to find at its descriptors; only async-signal-safe calls, as nobody knows what we hold. */
static __attribute__((noreturn)) void
become_replica(const char *path, pid_t parent, const int descriptors[3])
{
	char *const arguments[] = {(char[]){REPLICA_NAME}, NULL}, *const environment[] = {NULL};
	const struct rlimit space = {SPACE_MAX, SPACE_MAX};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (dup2(descriptors[i], REPLICA_CONTROL + i) < 0)
			_exit(1);
	setrlimit(RLIMIT_AS, &space);
	setsid(); /* what the terminal sends is for us */
	if (replica_prepare() < 0)
		_exit(1);
	execve(path, arguments, environment);
	_exit(1);
}

/* A descriptor in the place of one that is below those that the replica wants; -1 when there is none. */
static int
move_up(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	if (fd >= 0 && moved < 0)
		errno = EMFILE;
	if (fd >= 0)
		close(fd);
	return moved;
}

static int
start_program(struct replica *replica, const int descriptors[3])
{
	const pid_t parent = getpid();
	char path[PATH_MAX];
	pid_t pid;
	int err = child_find_installed(REPLICA_NAME, path);

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		become_replica(path, parent, descriptors);
	if (pid < 0)
		return -errno;
	replica->pid = pid;
	replica->process = (int)syscall(SYS_pidfd_open, pid, 0);
	return replica->process < 0 ? -errno : 0;
}

static int
share_memory(struct replica *replica, int memory)
{
	void *shared;

	if (memory < 0 || ftruncate(memory, sizeof(*replica->shared)) < 0)
		return -errno;
	shared = mmap(NULL, sizeof(*replica->shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return -errno;
	replica->shared = shared;
	return 0;
}

static int
start(struct replica *replica, pid_t pid)
{
	int descriptors[3] = {-1, -1, -1}, control[2], err;
	char name[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	replica->control = control[0];
	descriptors[0] = move_up(control[1]);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	descriptors[1] = move_up(open(name, O_RDONLY | O_CLOEXEC));
	err = descriptors[1] >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;
	descriptors[2] = move_up(memfd_create(REPLICA_NAME, MFD_CLOEXEC));
	if (!err)
		err = share_memory(replica, descriptors[2]);
	if (!err)
		err = start_program(replica, descriptors);
	for (int i = 0; i < 3; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	return err ? err : replica_begin(replica);
}

struct replica *
replica_new(pid_t pid)
{
	struct replica *replica = calloc(1, sizeof(*replica));
	int err;

	if (!replica)
		return NULL;
	replica->control = replica->process = -1;
	err = start(replica, pid);
	if (!err)
		return replica;
	replica_free(replica);
	errno = -err;
	return NULL;
}

void
replica_free(struct replica *replica)
{
	siginfo_t info;

	if (!replica)
		return;
	if (replica->process >= 0) {
		(void)syscall(SYS_pidfd_send_signal, replica->process, SIGKILL, NULL, 0);
		while (waitid((idtype_t)P_PIDFD, (id_t)replica->process, &info, WEXITED) < 0 && errno == EINTR)
			;
		close(replica->process);
	}
	if (replica->control >= 0)
		close(replica->control);
	if (replica->shared)
		munmap(replica->shared, sizeof(*replica->shared));
	free(replica);
}

/* What the replica wrote is read once: it could write again. */
static int
take_burst(const struct replica *replica, size_t steps, struct burst *burst)
{
	const struct replica_shared *shared = replica->shared;
	const uint32_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE);
	const uint32_t end = replica->is_busy ? REPLICA_END_TIME : __atomic_load_n(&shared->end, __ATOMIC_RELAXED);

	if (count > steps + 1 || end < REPLICA_END_STEPS || end > REPLICA_END_VECTORS)
		return -EPIPE;
	burst->count = count > 0 ? count - 1 : 0;
	burst->end = (enum replica_end)end;
	memcpy(burst->places, shared->places, count * sizeof(burst->places[0]));
	return end == REPLICA_END_FAULT && burst->count == 0 ? -EPIPE : 0;
}

int
replica_execute(struct replica *replica, const struct seized *seized, size_t steps, uint64_t limit_ns,
                struct burst *burst)
{
	int err;

	burst->count = 0;
	burst->end = REPLICA_END_TIME;
	if (steps > REPLICA_STEPS_MAX)
		steps = REPLICA_STEPS_MAX;
	err = replica_execute_shared(replica, seized, steps, limit_ns);
	return err ? err : take_burst(replica, steps, burst);
}
