#include "dcpi-tools/emulated/run_reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/emulated/run_directory.h"

#define OWN_NAME "emulators-end" /* not the tool's: killall of that must not kill the reaper */
#define LINE     3
#define LOCK     4

/* Close what was inherited: a reader of our standard streams must not wait until the reaper ends. */
static void
keep_only(int line, int lock)
{
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* above LOCK, so that dup2() onto LINE and LOCK overwrites neither */
	const int kept_line = fcntl(line, F_DUPFD_CLOEXEC, LOCK + 1);
	const int kept_lock = fcntl(lock, F_DUPFD_CLOEXEC, LOCK + 1);

	for (int fd = 0; fd < LINE; fd++)
		if (nowhere >= 0)
			dup2(nowhere, fd);
	if (kept_line < 0 || kept_lock < 0)
		_exit(EXIT_FAILURE);
	dup2(kept_line, LINE);
	dup2(kept_lock, LOCK);
	(void)syscall(SYS_close_range, LOCK + 1, ~0U, 0);
}

static void
wait_for_tool(const char *directory, int line, int lock)
{
	sigset_t all;
	char word;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, OWN_NAME);
	keep_only(line, lock);
	if (TEMP_FAILURE_RETRY(read(LINE, &word, sizeof(word))) == 0)
		run_directory_end_stale(directory);
	_exit(EXIT_SUCCESS);
}

int
run_reaper_start(struct run_reaper *reaper, const char *directory, int lock)
{
	int line[2], err = 0;

	*reaper = (struct run_reaper){.line = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return -errno;
	reaper->pid = fork();
	if (reaper->pid == 0) {
		close(line[1]);
		wait_for_tool(directory, line[0], lock);
	}
	if (reaper->pid < 0)
		err = -errno;
	close(line[0]);
	if (!err) {
		reaper->line = line[1];
		return 0;
	}
	reaper->pid = 0;
	close(line[1]);
	return err;
}

void
run_reaper_dismiss(struct run_reaper *reaper)
{
	static const char word = '.';

	if (reaper->pid == 0)
		return;
	/* the reaper may have been killed: no SIGPIPE */
	(void)TEMP_FAILURE_RETRY(send(reaper->line, &word, sizeof(word), MSG_NOSIGNAL));
	close(reaper->line);
	(void)TEMP_FAILURE_RETRY(waitpid(reaper->pid, NULL, 0));
	*reaper = (struct run_reaper){.line = -1};
}
