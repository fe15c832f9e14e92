#include "dcpi-tools/common/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTOR_PATH_SIZE 40

/* A file without a name, which a kill removes; -1 where the file system has no O_TMPFILE. */
static int
open_unnamed(const char *path)
{
	char *directory = strdup(path), *slash;
	int fd;

	if (!directory)
		return -1;
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(directory);
	return fd;
}

static int
open_beside(struct atomic_file *file)
{
	int fd = open_unnamed(file->path), err;

	if (fd < 0) {
		unlink(file->temporary); /* of a killed process that had our process number */
		fd = open(file->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	}
	if (fd < 0)
		return -errno;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static void
clear(struct atomic_file *file)
{
	free(file->path);
	free(file->temporary);
	memset(file, 0, sizeof(*file));
}

int
atomic_file_open(struct atomic_file *file, const char *path)
{
	struct stat there;
	int err;

	memset(file, 0, sizeof(*file));
	if (strcmp(path, "-") == 0) {
		file->stream = stdout;
		return 0;
	}
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		file->stream = fopen(path, "we");
		return file->stream ? 0 : -errno;
	}
	file->path = realpath(path, NULL); /* a symbolic link stays, its target is replaced */
	if (!file->path)
		file->path = strdup(path);
	if (!file->path)
		return -ENOMEM;
	if (asprintf(&file->temporary, "%s.dcpi-%ld", file->path, (long)getpid()) < 0) {
		file->temporary = NULL;
		err = -ENOMEM;
	} else {
		err = open_beside(file);
	}
	if (err)
		clear(file);
	return err;
}

/* An unnamed file gets its temporary name: linkat() does not replace a file, rename() does. */
static int
link_temporary(const struct atomic_file *file)
{
	char path[DESCRIPTOR_PATH_SIZE];
	struct stat now;

	if (fstat(fileno(file->stream), &now))
		return -errno;
	if (now.st_nlink > 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file->stream));
	unlink(file->temporary);
	return linkat(AT_FDCWD, path, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static int
finish(const struct atomic_file *file)
{
	int err;

	if (fflush(file->stream) || ferror(file->stream))
		return errno ? -errno : -EIO;
	if (!file->path)
		return 0;
	if (fsync(fileno(file->stream)))
		return -errno;
	err = link_temporary(file);
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	return err;
}

int
atomic_file_close(struct atomic_file *file, int err)
{
	errno = 0;
	if (!err)
		err = finish(file);
	if (err && file->temporary)
		unlink(file->temporary);
	if (file->stream != stdout && fclose(file->stream) && !err)
		err = -errno;
	clear(file);
	return err;
}
