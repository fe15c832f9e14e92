#include "dcpi-tools/common/temporary_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"

const char *
temporary_directory_parent(const char *otherwise)
{
	const char *named = getenv("TMPDIR");

	return named && named[0] == '/' ? named : otherwise;
}

int
temporary_directory_make(const char *parent, const char *name, char *path, size_t size)
{
	int err = 0;

	if (snprintf(path, size, "%s/%s" TEMPORARY_DIRECTORY_SUFFIX, parent, name) >= (int)size)
		err = -ENAMETOOLONG;
	else if (!mkdtemp(path))
		err = -errno;
	if (err)
		path[0] = '\0';
	return err;
}

/* Remove the files of the directory `fd`, which is closed. */
static void
remove_files(int fd)
{
	DIR *files = fdopendir(fd);
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		(void)unlinkat(fd, entry->d_name, 0);
	if (files)
		closedir(files);
	else
		close(fd);
}

void
temporary_directory_remove(const char *path)
{
	DIR *entries = opendir(path);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		int inner;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    unlinkat(dirfd(entries), entry->d_name, 0) == 0)
			continue;
		inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner < 0)
			continue;
		remove_files(inner);
		(void)unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
	}
	if (entries)
		closedir(entries);
	(void)rmdir(path);
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
		if (number <= 0 || !exit_signals_include(number)) /* as under nohup(1), or SIGCHLD */
			continue;
		*signal = number;
		kill(child, SIGKILL); /* it has nothing to clean up */
	}
}

int
temporary_directory_run(const char *path, int (*work)(void *context), void *context)
{
	const pid_t parent = getpid();
	sigset_t signals, before;
	int status, number = 0;
	pid_t child;

	signal(SIGCHLD, SIG_DFL); /* if ignored, sigwaitinfo() would not return it */
	exit_signals_fill(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child == 0)
		_exit(do_work(&before, parent, work, context));
	status = child < 0 ? message_cannot(NULL, "begin", -errno, NULL) : wait_for(child, &signals, &number);
	temporary_directory_remove(path);
	if (number)
		(void)exit_signals_raise(number);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return status;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGPIPE)
		message_print(NULL, "the work was ended by signal %d", WTERMSIG(status));
	return STATUS_FAILURE;
}
