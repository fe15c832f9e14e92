#include "dcpi-tools/common/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127

int
picture_source(picture_printer *print, const void *context)
{
	FILE *file = tmpfile();
	int fd;

	if (!file)
		return -errno;
	print(context, file);
	if (fflush(file) != 0 || ferror(file)) {
		fclose(file);
		return -EIO;
	}
	fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
	fclose(file);
	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int
spawn(char *const arguments[], int input, int output, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int err;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!err && output >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int
picture_run(char *const arguments[], int input, int output)
{
	int err, status;
	pid_t child = 0;

	err = spawn(arguments, input, output, &child);
	if (err)
		return err;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EIO;
	return WEXITSTATUS(status) == NOT_FOUND ? -ENOENT : WEXITSTATUS(status);
}
