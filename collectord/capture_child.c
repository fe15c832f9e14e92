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
#include "base/small_file.h"
#include "collectord/machine.h"

#define END_S       2 /* the longest wait for the end of a process: one that hangs in the kernel is left behind */
#define LOOK_NS     (SECOND_NS / 2)    /* between two looks at a process that writes nothing */
#define NO_PIDFD_NS (SECOND_NS / 1000) /* between two looks at whether a process has ended, before Linux 5.3 */
#define STAT_SIZE   2048               /* of a line that has 52 numbers */

extern char **environ;

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
		goto destroy_actions;
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (err)
		goto out;
	err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (err)
		goto out;
	if (file >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, file, RUN_TIME_FILE);
	if (err)
		goto out;
	err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (err)
		goto out;
	err = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
out:
	posix_spawnattr_destroy(&attributes);
destroy_actions:
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Start the program, which inherits `file`, and make our ends of its pipes. 0 or -errno, perhaps with a process. */
static int
start(struct capture_child *child, const char *program, int file)
{
	int in[2], out[2], err;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		err = -errno;
		close(in[0]);
		close(in[1]);
		return err;
	}
	err = spawn(program, in[0], out[1], file, &child->pid);
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
	struct capture_outcome *outcome = child->outcome;
	uint8_t *grown;
	ssize_t got;

	if (outcome->size > REPLY_SIZE_MAX)
		return -EFBIG;
	grown = array_grow(outcome->bytes, &child->capacity, outcome->size + 65536, 1);
	if (!grown)
		return -ENOMEM;
	outcome->bytes = grown;
	got = read(child->out, grown + outcome->size, child->capacity - outcome->size);
	if (got > 0)
		outcome->size += (size_t)got;
	if (got == 0)
		return 1;
	return got < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

/* Does it wait in the kernel? One that is ready to run on a busy machine does not. */
static bool
is_waiting(pid_t pid)
{
	char text[STAT_SIZE];
	const char *at;

	if (small_file_read(text, sizeof(text), "/proc/%d/stat", (int)pid))
		return false;
	at = strrchr(text, ')'); /* after its name comes " STATE " */
	return at && (strncmp(at, ") D", 3) == 0 || strncmp(at, ") S", 3) == 0);
}

/* Has it neither computed nor written for CAPTURE_CHILD_PATIENCE_S, and waits? The file system of what it reads does
 * not answer. */
static bool
hangs(struct capture_child *child, uint64_t now_ns)
{
	uint64_t cpu_ns = child->cpu_ns;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) == 0)
		cpu_ns = machine_clock_ns(clock);
	if (cpu_ns != child->cpu_ns) {
		child->cpu_ns = cpu_ns;
		child->moved_ns = now_ns;
	}
	return now_ns - child->moved_ns > CAPTURE_CHILD_PATIENCE_S * SECOND_NS && is_waiting(child->pid);
}

/* Nothing more happens: decode what it said. */
static void
conclude(struct capture_child *child)
{
	struct capture_outcome *outcome = child->outcome;

	close_end(&child->in);
	close_end(&child->out);
	close_end(&child->end);
	if (!outcome->error)
		outcome->error = capture_reply_decode(outcome->bytes, outcome->size, &outcome->reply);
	if (!outcome->error)
		outcome->error = outcome->reply.has_ended ? outcome->reply.error : -ECHILD;
	child->has_ended = true;
}

static void
kill_child(struct capture_child *child, uint64_t now_ns)
{
	kill(child->pid, SIGKILL);
	child->was_killed = true;
	child->deadline_ns = now_ns + END_S * SECOND_NS;
}

/* If the process has ended, note how; if it does not end in time, kill it, and then leave it behind. */
static void
reap(struct capture_child *child, uint64_t now_ns)
{
	struct capture_outcome *outcome = child->outcome;
	struct rusage usage;
	int status;
	pid_t pid = wait4(child->pid, &status, WNOHANG, &usage);

	if ((pid == 0 || (pid < 0 && errno == EINTR)) && now_ns <= child->deadline_ns)
		return;
	if (pid == 0 && !child->was_killed) { /* it has closed its output, and does not end */
		kill_child(child, now_ns);
		return;
	}
	if (pid > 0)
		outcome->cpu_ns = machine_usage_ns(&usage);
	if (pid > 0 && !outcome->error && WIFSIGNALED(status)) {
		outcome->error = -ECHILD;
		outcome->signal = WTERMSIG(status);
	}
	conclude(child);
}

/* The child has written its whole reply (0), or is to be killed because of an error. */
static void
begin_end(struct capture_child *child, int err, uint64_t now_ns)
{
	child->outcome->error = err;
	close_end(&child->in);
	close_end(&child->out);
	child->is_ending = true;
	child->deadline_ns = now_ns + END_S * SECOND_NS;
	child->end = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (err)
		kill_child(child, now_ns);
	reap(child, now_ns);
}

void
capture_child_start(struct capture_child *child, const char *program, const struct byte_writer *request, int file,
                    struct capture_outcome *outcome)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	memset(outcome, 0, sizeof(*outcome));
	*child = (struct capture_child){
		.outcome = outcome,
		.request = request,
		.in = -1,
		.out = -1,
		.end = -1,
		.deadline_ns = now_ns + CAPTURE_CHILD_S * SECOND_NS,
		.moved_ns = now_ns,
	};
	err = start(child, program, file);
	if (err && child->pid > 0) {
		begin_end(child, err, now_ns);
	} else if (err) {
		outcome->error = err;
		conclude(child);
	}
	child->own_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* Write and read as poll() found that it can be done, or take the end of the process. */
static void
serve(struct capture_child *child, bool may_write, bool may_read, uint64_t now_ns)
{
	int result;

	if (child->is_ending) {
		reap(child, now_ns);
		return;
	}
	if (may_write || may_read)
		child->moved_ns = now_ns;
	if (may_write)
		write_some(child);
	result = may_read ? read_some(child) : 0;
	if (result)
		begin_end(child, result < 0 ? result : 0, now_ns);
	else if (now_ns >= child->deadline_ns || hangs(child, now_ns))
		begin_end(child, -ETIMEDOUT, now_ns);
}

void
capture_children_serve(struct capture_child *const *children, size_t count, int stop, uint64_t monotonic_ns)
{
	const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC), until_ns = now_ns + LOOK_NS, own_ns;
	struct pollfd fds[2 * CAPTURE_CHILDREN_MAX + 1] = {{.fd = -1, .events = POLLIN}};
	bool runs[CAPTURE_CHILDREN_MAX] = {false};
	size_t run_count = 0;

	if (monotonic_ns < until_ns)
		until_ns = monotonic_ns;
	for (size_t i = 0; i < count; i++) {
		const struct capture_child *child = children[i];
		struct pollfd *input = &fds[1 + 2 * i], *output = &fds[2 + 2 * i];

		*input = (struct pollfd){.fd = -1, .events = POLLOUT};
		*output = (struct pollfd){.fd = -1, .events = POLLIN};
		runs[i] = !child->has_ended;
		if (!runs[i])
			continue;
		run_count++;
		input->fd = child->in;
		output->fd = child->is_ending ? child->end : child->out;
		if (!child->is_ending)
			fds[0].fd = stop;
		if (child->deadline_ns < until_ns)
			until_ns = child->deadline_ns;
		if (output->fd < 0 && until_ns > now_ns + NO_PIDFD_NS)
			until_ns = now_ns + NO_PIDFD_NS;
	}
	if (run_count == 0)
		return;
	if (poll(fds, 1 + 2 * count, until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0) < 0)
		for (size_t i = 0; i < 1 + 2 * count; i++)
			fds[i].revents = 0;
	now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < count; i++)
		if (runs[i] && fds[0].revents && !children[i]->is_ending)
			begin_end(children[i], -ECANCELED, now_ns);
		else if (runs[i])
			serve(children[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents, now_ns);
	own_ns = (machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / run_count;
	for (size_t i = 0; i < count; i++)
		children[i]->own_ns += runs[i] ? own_ns : 0;
}

void
capture_child_run(const char *program, const struct byte_writer *request, int stop, struct capture_outcome *outcome)
{
	struct capture_child child, *const children[] = {&child};

	capture_child_start(&child, program, request, -1, outcome);
	while (!child.has_ended)
		capture_children_serve(children, 1, stop, UINT64_MAX);
}

void
capture_outcome_fini(struct capture_outcome *outcome)
{
	free(outcome->bytes);
	memset(outcome, 0, sizeof(*outcome));
}
