#include "dcpi-tools/x/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

static void
collect_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
}

/* Without this many would do without us, should memory end. */
static void
be_spared(void)
{
	FILE *score = fopen("/proc/self/oom_score_adj", "we");

	if (!score)
		return;
	fputs("-1000", score); /* for root only; else it is as it is */
	fclose(score);
}

static int
work_apart(pid_t parent, int (*work)(void *context), void *context)
{
	(void)setsid(); /* what the terminal sends is for our parent */
	be_spared();
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		return STATUS_FAILURE;
	return work(context);
}

static int
wait_for(pid_t pid, const sigset_t *signals, int *status)
{
	siginfo_t info;

	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid)
			return 0;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD)
			kill(pid, info.si_signo);
	}
}

int
apart_run(int (*work)(void *context), void *context)
{
	const pid_t parent = getpid();
	sigset_t signals, before;
	int status = 0, err;
	pid_t pid;

	collect_signals(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		exit(work_apart(parent, work, context));
	err = pid < 0 ? -errno : wait_for(pid, &signals, &status);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
