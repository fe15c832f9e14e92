#include "dcpi-tools/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/ending.h"
#include "dcpi-tools/common/time_text.h"

/* A signal that somebody sent to us is meant for the program; from the terminal it has one of its own. */
static void
pass_on(pid_t pid, const siginfo_t *info)
{
	if (info->si_code <= 0 && info->si_pid != pid)
		kill(pid, info->si_signo);
}

static void
note_asked(struct child *child, int signal_number)
{
	if (!child->asked && ending_is_asked(signal_number))
		child->asked = signal_number;
}

/* What the terminal sent to us and to the program, which has ended by it before we heard of it. */
static void
take_rest(struct child *child, const sigset_t *signals)
{
	static const struct timespec now = {0};
	int taken;

	while ((taken = sigtimedwait(signals, NULL, &now)) > 0)
		note_asked(child, taken);
}

static uint64_t
time_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000;
}

static int
wait_for(struct child *child, pid_t pid, const sigset_t *signals)
{
	static const struct timespec second = {.tv_sec = 1};
	struct rusage usage;
	siginfo_t info;

	for (;;) {
		pid_t ended = wait4(pid, &child->status, WNOHANG, &usage);

		if (ended == pid) {
			child->cpu_ns = time_of(&usage.ru_utime) + time_of(&usage.ru_stime);
			take_rest(child, signals);
			return 0;
		}
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sigtimedwait(signals, &info, child->tick ? &second : NULL) < 0) {
			if (errno == EAGAIN && child->tick)
				child->tick(child->tick_context, time_now() - child->start_ns);
			continue;
		}
		note_asked(child, info.si_signo);
		if (info.si_signo != SIGCHLD)
			pass_on(pid, &info);
	}
}

static void
collect_signals(sigset_t *signals)
{
	static const int list[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		sigaddset(signals, list[i]);
}

static void
send_output_nowhere(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dup2(fd, STDOUT_FILENO);
}

/* How signals were before: the program is to find them so. */
struct signals_before {
	sigset_t mask;
	struct sigaction of_children;
};

static void
restore_signals(const struct signals_before *before)
{
	sigaction(SIGCHLD, &before->of_children, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* What the new process does; `report` is closed when it has become the program. */
static void
become(const struct child *child, char *const *command, const struct signals_before *before, int report)
{
	int reason = child->begin ? child->begin(child->begin_context) : 0;

	restore_signals(before);
	if (child->mask)
		sigprocmask(SIG_SETMASK, child->mask, NULL);
	if (!reason) {
		if (child->is_quiet)
			send_output_nowhere();
		execvp(command[0], command);
		reason = -errno;
	}
	if (write(report, &reason, sizeof(reason)) < 0)
		_exit(STATUS_FAILURE);
	_exit(0);
}

/* Why it has not become the program; 0: it has. */
static int
read_report(int report)
{
	int reason = 0;
	ssize_t got = TEMP_FAILURE_RETRY(read(report, &reason, sizeof(reason)));

	if (got < 0)
		return -errno;
	return got == sizeof(reason) ? reason : 0;
}

/* What the terminal sends us from now on it sends to the program, too; what came before is for both as well. */
static pid_t
start(struct child *child)
{
	pid_t pid;

	child->asked = ending_take();
	pid = fork();
	if (pid > 0 && child->asked)
		kill(pid, child->asked);
	return pid;
}

static int
start_and_wait(struct child *child, char *const *command, const sigset_t *signals, const struct signals_before *before)
{
	int report[2], reason, err;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	fflush(NULL); /* or the new process has it as well */
	pid = start(child);
	if (pid == 0) {
		close(report[0]);
		become(child, command, before, report[1]);
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
	struct signals_before before;
	sigset_t signals;
	int err;

	child->status = 0;
	child->cpu_ns = 0;
	child->asked = 0;
	collect_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before.mask);
	sigaction(SIGCHLD, &normal, &before.of_children); /* who ignores it hears of no child */
	err = start_and_wait(child, command, &signals, &before);
	restore_signals(&before);
	return err;
}

int
child_exit_status(int status, int failed)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? WEXITSTATUS(status) : failed;
	return ending_by(WTERMSIG(status));
}
