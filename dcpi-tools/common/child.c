#include "dcpi-tools/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "dcpi-tools/common/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int exit_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/* What child_run() waits for, besides the signals that it only passes on. */
static const int child_signals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

static const struct timespec at_once = {0};

static void
make_set(const int *list, size_t count, sigset_t *signals)
{
	sigemptyset(signals);
	for (size_t i = 0; i < count; i++)
		sigaddset(signals, list[i]);
}

void
exit_signals_fill(sigset_t *signals)
{
	make_set(exit_signals, COUNT(exit_signals), signals);
}

void
exit_signals_block(sigset_t *before)
{
	sigset_t signals;

	exit_signals_fill(&signals);
	sigprocmask(SIG_BLOCK, &signals, before);
}

bool
exit_signals_include(int signal_number)
{
	struct sigaction action;
	size_t i = 0;

	while (i < COUNT(exit_signals) && exit_signals[i] != signal_number)
		i++;
	return i < COUNT(exit_signals) && sigaction(signal_number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

int
exit_signals_take(void)
{
	sigset_t signals;
	int taken, asked = 0;

	exit_signals_fill(&signals);
	/* a signal that is ignored still becomes pending while it is blocked */
	while ((taken = sigtimedwait(&signals, NULL, &at_once)) > 0)
		if (!asked && exit_signals_include(taken))
			asked = taken;
	return asked;
}

void
exit_signals_restore(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

int
exit_signals_raise(int signal_number)
{
	const struct rlimit no_core = {0};
	sigset_t own;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	make_set(&signal_number, 1, &own);
	sigprocmask(SIG_UNBLOCK, &own, NULL);
	raise(signal_number);
	return 128 + signal_number;
}

static void
note_asked(struct child *child, int signal_number)
{
	if (!child->asked && exit_signals_include(signal_number))
		child->asked = signal_number;
}

static uint64_t
timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_usec * 1000;
}

/* A signal from another process is meant for the program; the terminal sends one to the program itself. */
static int
wait_for(struct child *child, pid_t pid, const sigset_t *signals)
{
	const uint64_t tick_ns = child->tick_ns ? child->tick_ns : SECOND_NS;
	const struct timespec tick = {.tv_sec = (time_t)(tick_ns / SECOND_NS), .tv_nsec = (long)(tick_ns % SECOND_NS)};
	struct rusage usage;
	siginfo_t info;
	int taken;

	for (;;) {
		pid_t ended = wait4(pid, &child->status, WNOHANG, &usage);

		if (ended == pid)
			break;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sigtimedwait(signals, &info, child->tick ? &tick : NULL) < 0) {
			if (errno == EAGAIN && child->tick)
				child->tick(child->tick_context, time_now() - child->start_ns);
			continue;
		}
		note_asked(child, info.si_signo);
		if (info.si_signo != SIGCHLD && info.si_code <= 0 && info.si_pid != pid)
			kill(pid, info.si_signo);
	}
	child->cpu_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
	/* The terminal may have sent a signal to both of us that terminated the program before we accepted ours. */
	while ((taken = sigtimedwait(signals, NULL, &at_once)) > 0)
		note_asked(child, taken);
	return 0;
}

/* The signal settings that the program inherits. */
struct child_signals {
	sigset_t mask;
	struct sigaction of_children;
};

static void
restore_signals(const struct child_signals *before)
{
	sigaction(SIGCHLD, &before->of_children, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* In the new process. Exec closes `report`; what prevents exec is written to it. */
static void
execute(const struct child *child, char *const *command, const struct child_signals *before, int report)
{
	int reason = child->begin ? child->begin(child->begin_context) : 0;

	restore_signals(before);
	if (child->mask)
		sigprocmask(SIG_SETMASK, child->mask, NULL);
	if (!reason) {
		const int null = child->is_quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		execvp(command[0], command);
		reason = -errno;
	}
	if (write(report, &reason, sizeof(reason)) < 0)
		_exit(STATUS_FAILURE);
	_exit(0);
}

/* Why exec did not happen; 0: it did. */
static int
read_report(int report)
{
	int reason = 0;
	ssize_t got = TEMP_FAILURE_RETRY(read(report, &reason, sizeof(reason)));

	if (got < 0)
		return -errno;
	return got == sizeof(reason) ? reason : 0;
}

static int
start_and_wait(struct child *child, char *const *command, const sigset_t *signals, const struct child_signals *before)
{
	int report[2], reason, err;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	fflush(NULL); /* or the new process prints the buffers again */
	child->asked = exit_signals_take();
	pid = fork();
	if (pid > 0 && child->asked) /* it was sent before the fork: from now on the terminal sends to both */
		kill(pid, child->asked);
	if (pid == 0) {
		close(report[0]);
		execute(child, command, before, report[1]);
	}
	err = pid < 0 ? -errno : 0;
	close(report[1]);
	reason = err ? err : read_report(report[0]);
	close(report[0]);
	child->start_ns = time_now();
	if (!err)
		err = wait_for(child, pid, signals);
	child->end_ns = time_now();
	return reason ? reason : err;
}

int
child_run(struct child *child, char *const *command)
{
	const struct sigaction normal = {.sa_handler = SIG_DFL};
	struct child_signals before;
	sigset_t signals;
	int err;

	child->status = 0;
	child->cpu_ns = 0;
	child->asked = 0;
	make_set(child_signals, COUNT(child_signals), &signals);
	sigprocmask(SIG_BLOCK, &signals, &before.mask);
	sigaction(SIGCHLD, &normal, &before.of_children); /* an ignored SIGCHLD would never be delivered */
	err = start_and_wait(child, command, &signals, &before);
	restore_signals(&before);
	return err;
}

int
child_exit_status(int status, int failed)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? WEXITSTATUS(status) : failed;
	return exit_signals_raise(WTERMSIG(status));
}

int
child_find_installed(const char *name, char path[PATH_MAX])
{
	char self[PATH_MAX], place[PATH_MAX + NAME_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	snprintf(path, PATH_MAX, "/proc/self/exe");
	if (length <= 0)
		return -errno;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (snprintf(place, sizeof(place), "%s/../lib/dcpi/%s", self, name) >= (int)sizeof(place))
		return -ENAMETOOLONG;
	if (realpath(place, path))
		return 0;
	snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, place);
	return -errno;
}
