#include "collectord/capture_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "collectord/machine.h"

#define REAP_S    2 /* the longest wait for the end of a process: one that hangs in the kernel is left behind */
#define LOOK_NS   (SECOND_NS / 2) /* between two looks at a process that writes nothing */
#define STAT_SIZE 512

extern char **environ;

struct capture_child {
	pid_t pid;
	int in, out; /* our ends of its pipes; -1: closed */
	int file;    /* that it inherits; -1: none */
	const struct byte_writer *request;
	size_t written;
	uint8_t *bytes;
	size_t size, capacity;
	uint64_t deadline_ns;
	uint64_t cpu_ns, moved_ns; /* processor time that it had used, and when that was seen to grow last */
};

int
capture_child_find(char path[PATH_MAX])
{
	static const char place[] = "../lib/dcpi/" CAPTURE_PROGRAM;
	char self[PATH_MAX - sizeof(place)];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return length < 0 ? -errno : -ENOENT;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, PATH_MAX, "%s/%s", self, place);
	return access(path, X_OK) < 0 ? -errno : 0;
}

static void
close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Start the program with its two pipes, no standard error, no signal blocked or handled. 0 or -errno. */
static int
spawn(const char *program, int in, int out, int file, pid_t *pid)
{
	char *arguments[] = {(char *)program, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int err;

	sigfillset(&all);
	sigemptyset(&none);
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err)
		goto out;
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!err && file >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, file, RUN_TIME_FILE);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
out:
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int
start(struct capture_child *child, const char *program)
{
	int in[2], out[2], err;

	child->in = child->out = -1;
	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		err = -errno;
		close(in[0]);
		close(in[1]);
		return err;
	}
	err = spawn(program, in[0], out[1], child->file, &child->pid);
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	if (!err && (fcntl(in[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0))
		err = -errno;
	return err;
}

/* Write some of the request. The process may end without reading all: its reply says why. */
static void
write_some(struct capture_child *child)
{
	const size_t left = child->request->size - child->written;
	ssize_t put = write(child->in, child->request->data + child->written, left);

	if (put > 0)
		child->written += (size_t)put;
	if (child->written == child->request->size || (put < 0 && errno != EAGAIN && errno != EINTR))
		close_end(&child->in);
}

/* Read some of the reply. 0; 1 at the end; -EFBIG, -ENOMEM, -errno. */
static int
read_some(struct capture_child *child)
{
	uint8_t *grown;
	ssize_t got;

	if (child->size > REPLY_SIZE_MAX)
		return -EFBIG;
	grown = array_grow(child->bytes, &child->capacity, child->size + 65536, 1);
	if (!grown)
		return -ENOMEM;
	child->bytes = grown;
	got = read(child->out, grown + child->size, child->capacity - child->size);
	if (got > 0)
		child->size += (size_t)got;
	if (got == 0)
		return 1;
	return got < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

/* Does it wait in the kernel? One that is ready to run on a busy machine does not. */
static bool
is_waiting(pid_t pid)
{
	char path[32], text[STAT_SIZE];
	const char *at;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	at = strrchr(text, ')'); /* after its name comes " STATE " */
	return at && (strncmp(at, ") D", 3) == 0 || strncmp(at, ") S", 3) == 0);
}

/* Has it not computed for CAPTURE_CHILD_PATIENCE_S, and waits? The file system of what it reads does not answer. */
static bool
hangs(struct capture_child *child, uint64_t now_ns)
{
	uint64_t cpu_ns = child->cpu_ns;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) == 0)
		cpu_ns = machine_clock_ns(clock);
	if (cpu_ns != child->cpu_ns || child->moved_ns == 0) {
		child->cpu_ns = cpu_ns;
		child->moved_ns = now_ns;
	}
	return now_ns - child->moved_ns > CAPTURE_CHILD_PATIENCE_S * SECOND_NS && is_waiting(child->pid);
}

/* Write the request and read the reply. 0 when the process has closed its output; -ETIMEDOUT, -ECANCELED, ... */
static int
converse(struct capture_child *child, int stop)
{
	for (;;) {
		const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
		struct pollfd fds[] = {
			{.fd = child->out, .events = POLLIN},
			{.fd = child->in, .events = POLLOUT},
			{.fd = stop, .events = POLLIN},
		};
		const uint64_t left_ns = child->deadline_ns - now_ns;
		int result;

		if (now_ns >= child->deadline_ns || hangs(child, now_ns))
			return -ETIMEDOUT;
		result = poll(fds, sizeof(fds) / sizeof(fds[0]),
		              (int)((left_ns < LOOK_NS ? left_ns : LOOK_NS) / 1000000) + 1);
		if (result < 0 && errno != EINTR)
			return -errno;
		if (result <= 0)
			continue;
		if (fds[2].revents)
			return -ECANCELED;
		if (fds[1].revents)
			write_some(child);
		if (fds[0].revents) {
			result = read_some(child);
			if (result)
				return result < 0 ? result : 0;
		}
	}
}

static uint64_t
time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_usec * 1000;
}

/* Wait for its end: its status, or -ETIMEDOUT. */
static int
reap(const struct capture_child *child, struct capture_outcome *outcome)
{
	const uint64_t until_ns = machine_clock_ns(CLOCK_MONOTONIC) + REAP_S * SECOND_NS;
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child->pid, 0), .events = POLLIN};
	struct rusage usage;
	int status, err = 0;
	pid_t pid;

	while ((pid = wait4(child->pid, &status, WNOHANG, &usage)) == 0 || (pid < 0 && errno == EINTR)) {
		const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

		if (now_ns > until_ns) {
			err = -ETIMEDOUT;
			break;
		}
		/* before Linux 5.3 there is no pidfd_open(): look every millisecond */
		(void)poll(&end, 1, end.fd >= 0 ? (int)((until_ns - now_ns) / 1000000) + 1 : 1);
	}
	if (pid < 0)
		err = -errno;
	close_end(&end.fd);
	if (err)
		return err;
	outcome->cpu_ns = time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
	return status;
}

/* End the process, if it has not ended, and note how it ended. */
static void
finish(struct capture_child *child, struct capture_outcome *outcome)
{
	int status;

	close_end(&child->in);
	close_end(&child->out);
	if (outcome->error)
		kill(child->pid, SIGKILL);
	status = reap(child, outcome);
	if (status == -ETIMEDOUT && !outcome->error) { /* it has closed its output, and does not end */
		kill(child->pid, SIGKILL);
		status = reap(child, outcome);
	}
	if (!outcome->error && status >= 0 && WIFSIGNALED(status)) {
		outcome->error = -ECHILD;
		outcome->signal = WTERMSIG(status);
	}
}

void
capture_child_run(const char *program, const struct byte_writer *request, int stop, struct capture_outcome *outcome)
{
	capture_child_run_with_file(program, request, -1, stop, outcome);
}

void
capture_child_run_with_file(const char *program, const struct byte_writer *request, int file, int stop,
                            struct capture_outcome *outcome)
{
	struct capture_child child = {
		.request = request,
		.file = file,
		.deadline_ns = machine_clock_ns(CLOCK_MONOTONIC) + CAPTURE_CHILD_S * SECOND_NS,
	};

	memset(outcome, 0, sizeof(*outcome));
	outcome->error = start(&child, program);
	if (!outcome->error) {
		outcome->error = converse(&child, stop);
		finish(&child, outcome);
		if (!outcome->error)
			outcome->error = capture_reply_decode(child.bytes, child.size, &outcome->reply);
		if (!outcome->error)
			outcome->error = outcome->reply.has_ended ? outcome->reply.error : -ECHILD;
	} else if (child.pid > 0) {
		finish(&child, outcome);
	}
	close_end(&child.in);
	close_end(&child.out);
	outcome->bytes = child.bytes;
	outcome->size = child.size;
}

void
capture_outcome_fini(struct capture_outcome *outcome)
{
	free(outcome->bytes);
	memset(outcome, 0, sizeof(*outcome));
}
