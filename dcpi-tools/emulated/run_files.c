#include "dcpi-tools/emulated/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
read_name(const char *name, const char *prefix, struct run_file *file)
{
	const size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 && sscanf(name + length, "%d.%d", &file->pid, &file->number) == 2 &&
	       file->pid > 0 && file->number >= 0;
}

/* A descriptor; -1: no file that we may read, which -EPERM says, too; or another -errno. */
static int
open_file(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == EACCES || errno == EPERM ? -1 : -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -1;
}

int
run_files_each(const char *directory, const char *prefix, run_file_visit *visit, void *context)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	int err = 0;

	if (!files)
		return -errno;
	while (!err && (entry = readdir(files))) {
		struct run_file file;

		if (!read_name(entry->d_name, prefix, &file))
			continue;
		file.fd = open_file(dirfd(files), entry->d_name);
		if (file.fd == -ENOENT)
			continue;
		err = file.fd < -1 ? file.fd : visit(context, &file);
		if (file.fd >= 0)
			close(file.fd);
	}
	closedir(files);
	return err;
}

bool
run_file_is_running(const struct run_file *file)
{
	return file->number == 0 && (kill(file->pid, 0) == 0 || errno == EPERM);
}
