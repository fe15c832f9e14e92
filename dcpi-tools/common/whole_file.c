#include "dcpi-tools/common/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTOR_PATH_SIZE 40

static int
open_as_it_is(struct whole_file *file, const char *path)
{
	file->stream = fopen(path, "we");
	return file->stream ? 0 : -errno;
}

/* A file without a name, where the file system has that: a kill leaves nothing of it. */
static int
open_nameless(const char *path)
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
open_beside(struct whole_file *file)
{
	int fd = open_nameless(file->path), err;

	if (fd < 0) {
		unlink(file->temporary); /* of a process that had our number and was killed */
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
forget(struct whole_file *file)
{
	free(file->path);
	free(file->temporary);
	memset(file, 0, sizeof(*file));
}

int
whole_file_open(struct whole_file *file, const char *path)
{
	struct stat there;
	int err;

	memset(file, 0, sizeof(*file));
	if (strcmp(path, "-") == 0) {
		file->stream = stdout;
		return 0;
	}
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
		return open_as_it_is(file, path);
	file->path = realpath(path, NULL); /* what a symbolic link leads to is replaced, not the link */
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
		forget(file);
	return err;
}

/* Give it the name beside its own, unless it has that. */
static int
name_it(const struct whole_file *file)
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
finish(const struct whole_file *file)
{
	int err;

	if (fflush(file->stream) || ferror(file->stream))
		return errno ? -errno : -EIO;
	if (!file->path)
		return 0;
	if (fsync(fileno(file->stream)))
		return -errno;
	err = name_it(file);
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	return err;
}

int
whole_file_close(struct whole_file *file, int err)
{
	errno = 0;
	if (!err)
		err = finish(file);
	if (err && file->temporary)
		unlink(file->temporary);
	if (file->stream != stdout && fclose(file->stream) && !err)
		err = -errno;
	forget(file);
	return err;
}
