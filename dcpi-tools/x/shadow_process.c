#include "dcpi-tools/x/shadow_process.h"

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
#include "dcpi-tools/x/shadow_process_internal.h"

#define SHADOW_PROGRAM "dcpi-replica"
#define FIRST_FREE_FD  (SHADOW_SHARED + 1)
#define SPACE_MAX      (UINT64_C(64) << 20) /* more than it may copy, less than a hostile program would like */

/* In the child: only async-signal-safe calls, since it may have a copy of a lock that is held. */
static __attribute__((noreturn)) void
become_shadow_process(const char *path, pid_t parent, const int descriptors[3])
{
	char *const arguments[] = {(char[]){SHADOW_PROGRAM}, NULL}, *const environment[] = {NULL};
	const struct rlimit space = {SPACE_MAX, SPACE_MAX};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (dup2(descriptors[i], SHADOW_CONTROL + i) < 0)
			_exit(1);
	setrlimit(RLIMIT_AS, &space);
	setsid(); /* signals of the terminal are for dcpix alone */
	if (shadow_process_prepare() < 0)
		_exit(1);
	execve(path, arguments, environment);
	_exit(1);
}

/* A descriptor in the place of one that is below those that the shadow process wants; -1 when there is none. */
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
start_program(struct shadow_process *shadow, const int descriptors[3])
{
	const pid_t parent = getpid();
	char path[PATH_MAX];
	pid_t pid;
	int err = child_find_installed(SHADOW_PROGRAM, path);

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		become_shadow_process(path, parent, descriptors);
	if (pid < 0)
		return -errno;
	shadow->pid = pid;
	shadow->process = (int)syscall(SYS_pidfd_open, pid, 0);
	return shadow->process < 0 ? -errno : 0;
}

static int
share_memory(struct shadow_process *shadow, int memory)
{
	void *shared;

	if (memory < 0 || ftruncate(memory, sizeof(*shadow->shared)) < 0)
		return -errno;
	shared = mmap(NULL, sizeof(*shadow->shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return -errno;
	shadow->shared = shared;
	return 0;
}

static int
start(struct shadow_process *shadow, pid_t pid)
{
	int descriptors[3] = {-1, -1, -1}, control[2], err;
	char name[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	shadow->control = control[0];
	descriptors[0] = move_up(control[1]);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	descriptors[1] = move_up(open(name, O_RDONLY | O_CLOEXEC));
	err = descriptors[1] >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;
	descriptors[2] = move_up(memfd_create(SHADOW_PROGRAM, MFD_CLOEXEC));
	if (!err)
		err = share_memory(shadow, descriptors[2]);
	if (!err)
		err = start_program(shadow, descriptors);
	for (int i = 0; i < 3; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	return err ? err : shadow_process_begin(shadow);
}

struct shadow_process *
shadow_process_new(pid_t pid)
{
	struct shadow_process *shadow = calloc(1, sizeof(*shadow));
	int err;

	if (!shadow)
		return NULL;
	shadow->control = shadow->process = -1;
	err = start(shadow, pid);
	if (!err)
		return shadow;
	shadow_process_free(shadow);
	errno = -err;
	return NULL;
}

void
shadow_process_free(struct shadow_process *shadow)
{
	siginfo_t info;

	if (!shadow)
		return;
	if (shadow->process >= 0) {
		(void)syscall(SYS_pidfd_send_signal, shadow->process, SIGKILL, NULL, 0);
		while (waitid((idtype_t)P_PIDFD, (id_t)shadow->process, &info, WEXITED) < 0 && errno == EINTR)
			;
		close(shadow->process);
	}
	if (shadow->control >= 0)
		close(shadow->control);
	if (shadow->shared)
		munmap(shadow->shared, sizeof(*shadow->shared));
	free(shadow);
}

/* What the shadow process wrote is read once: it could write again. */
static int
take_burst(const struct shadow_process *shadow, size_t steps, struct burst *burst)
{
	const struct shadow_shared *shared = shadow->shared;
	const uint32_t count = __atomic_load_n(&shared->count, __ATOMIC_ACQUIRE);
	const uint32_t end = shadow->is_busy ? SHADOW_END_TIME : __atomic_load_n(&shared->end, __ATOMIC_RELAXED);

	if (count > steps + 1 || end < SHADOW_END_STEPS || end > SHADOW_END_VECTORS)
		return -EPIPE;
	burst->count = count > 0 ? count - 1 : 0;
	burst->end = (enum shadow_end)end;
	memcpy(burst->places, shared->places, count * sizeof(burst->places[0]));
	return end == SHADOW_END_FAULT && burst->count == 0 ? -EPIPE : 0;
}

int
shadow_process_execute(struct shadow_process *shadow, const struct stopped_thread *thread, size_t steps,
                       uint64_t limit_ns, struct burst *burst)
{
	int err;

	burst->count = 0;
	burst->end = SHADOW_END_TIME;
	if (steps > SHADOW_STEPS_MAX)
		steps = SHADOW_STEPS_MAX;
	err = shadow_process_execute_shared(shadow, thread, steps, limit_ns);
	return err ? err : take_burst(shadow, steps, burst);
}
