#include "dcpi-tools/tar/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

int
scratch_make(struct tar_scratch *scratch, const char *directory)
{
	const char *environment = getenv("TMPDIR");

	if (!directory)
		directory = environment && *environment ? environment : "/var/tmp";
	if (asprintf(&scratch->path, "%s/.dcpitar.XXXXXX", directory) < 0) {
		scratch->path = NULL;
		return -ENOMEM;
	}
	if (mkdtemp(scratch->path))
		return 0;
	free(scratch->path);
	scratch->path = NULL;
	return -errno;
}

char *
scratch_file(const struct tar_scratch *scratch, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", scratch->path, name) < 0 ? NULL : path;
}

static void
clean_up(struct tar_scratch *scratch)
{
	static const char *const files[] = {
		SCRATCH_DATABASE "/data.mdb",
		SCRATCH_DATABASE "/lock.mdb",
		SCRATCH_DATABASE "/dcpid.lock",
		SCRATCH_DATABASE "/readers.lock",
		SCRATCH_FILE,
	};
	int fd = open(scratch->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(fd, files[i], 0);
	if (fd >= 0) {
		unlinkat(fd, SCRATCH_DATABASE, AT_REMOVEDIR);
		close(fd);
	}
	rmdir(scratch->path);
	free(scratch->path);
	scratch->path = NULL;
}

static int
do_work(const sigset_t *before, pid_t parent, int (*work)(void *context), void *context)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, before, NULL);
	if (getppid() != parent)
		return STATUS_FAILURE;
	status = work(context);
	return fflush(stdout) ? STATUS_FAILURE : status;
}

/* Wait until the child has ended; its wait status. *signal: a signal that ended this process, and so the child. */
static int
wait_for(pid_t child, const sigset_t *signals, int *signal)
{
	int status = 0, number;

	for (;;) {
		const pid_t ended = waitpid(child, &status, WNOHANG);

		if (ended == child || (ended < 0 && errno != EINTR))
			return status;
		number = sigwaitinfo(signals, NULL);
		if (number <= 0 || number == SIGCHLD)
			continue;
		*signal = number;
		kill(child, SIGKILL); /* it has nothing to clean up */
	}
}

/* A signal that was ignored when the tool started, as under nohup(1), stays ignored. */
static void
add_unless_ignored(sigset_t *signals, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(signals, number);
}

static void
die_of(int number, const sigset_t *before)
{
	signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	raise(number);
}

int
scratch_run(struct tar_scratch *scratch, int (*work)(void *context), void *context)
{
	static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const pid_t parent = getpid();
	sigset_t signals, before;
	int status, number = 0;
	pid_t child;

	signal(SIGCHLD, SIG_DFL); /* if ignored, sigwaitinfo() would not return it */
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		add_unless_ignored(&signals, endings[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child == 0)
		_exit(do_work(&before, parent, work, context));
	status = child < 0 ? message_cannot(NULL, "begin", -errno, NULL) : wait_for(child, &signals, &number);
	clean_up(scratch);
	if (number)
		die_of(number, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return status;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGPIPE)
		message_print(NULL, "the work was ended by signal %d", WTERMSIG(status));
	return STATUS_FAILURE;
}
