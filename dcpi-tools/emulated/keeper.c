#include "dcpi-tools/emulated/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/emulated/abandoned.h"

#define OWN_NAME "emulators-end" /* a killall of the tool's name is not meant for it */
#define LINE     3
#define LOCK     4

/* Whoever waits for the end of our standard streams, or of what else we have inherited, must not wait for the keeper.
 */
static void
leave_files(int line, int lock)
{
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* out of the way of where they shall be */
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
keep(const char *directory, int line, int lock)
{
	sigset_t all;
	char word;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, OWN_NAME);
	leave_files(line, lock);
	if (TEMP_FAILURE_RETRY(read(LINE, &word, sizeof(word))) == 0)
		abandoned_end(directory);
	_exit(EXIT_SUCCESS);
}

int
keeper_start(struct keeper *keeper, const char *directory, int lock)
{
	int line[2], err = 0;

	*keeper = (struct keeper){.line = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return -errno;
	keeper->pid = fork();
	if (keeper->pid == 0) {
		close(line[1]);
		keep(directory, line[0], lock);
	}
	if (keeper->pid < 0)
		err = -errno;
	close(line[0]);
	if (!err) {
		keeper->line = line[1];
		return 0;
	}
	keeper->pid = 0;
	close(line[1]);
	return err;
}

void
keeper_dismiss(struct keeper *keeper)
{
	static const char word = '.';

	if (keeper->pid == 0)
		return;
	/* it may have been killed: that must not be our end */
	(void)TEMP_FAILURE_RETRY(send(keeper->line, &word, sizeof(word), MSG_NOSIGNAL));
	close(keeper->line);
	(void)TEMP_FAILURE_RETRY(waitpid(keeper->pid, NULL, 0));
	*keeper = (struct keeper){.line = -1};
}
