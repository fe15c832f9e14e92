#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name at *at, and *at behind it; false at the end. */
static bool
next_name(const char **at, char name[NAME_MAX + 1], size_t *length)
{
	*at += strspn(*at, "/");
	*length = strcspn(*at, "/");
	if (*length > 0 && *length <= NAME_MAX) {
		memcpy(name, *at, *length);
		name[*length] = '\0';
	}
	*at += *length;
	return *length > 0;
}

/*
 * Step by step, for openat2() is refused to a service that may make no set-user-id programs. A step never follows a
 * link: it stands on the link itself then, and the next step fails.
 */
static int
open_in(int root, const char *path, mapped_file_step *step, void *context)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0), next, err;
	char name[NAME_MAX + 1];
	size_t length;

	while (fd >= 0 && next_name(&path, name, &length)) {
		err = step ? -step(context, fd) : 0;
		if (!err && length > NAME_MAX)
			err = ENAMETOOLONG;
		if (!err && strcmp(name, "..") == 0)
			err = EINVAL;
		next = err ? -1 : openat(fd, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		if (next < 0 && !err)
			err = errno;
		close(fd);
		fd = next;
		errno = err;
	}
	if (fd < 0)
		return -errno;
	return fd;
}

int
mapped_file_walk(int procfs, uint32_t pid, const char *path, mapped_file_step *step, void *context)
{
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "%" PRIu32 "/root", pid);
	root = openat(procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_in(root, path, step, context);
	close(root);
	return fd;
}

int
mapped_file_below_root(int procfs, uint32_t pid, const char *path)
{
	return mapped_file_walk(procfs, pid, path, NULL, NULL);
}

static int
open_link(int procfs, const char *name)
{
	const int fd = openat(procfs, name, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

int
mapped_file_exe(int procfs, uint32_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu32 "/exe", pid);
	return open_link(procfs, name);
}

int
mapped_file_of_mapping(int procfs, uint32_t pid, uint64_t start, uint64_t end)
{
	char name[80];

	snprintf(name, sizeof(name), "%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return open_link(procfs, name);
}

int
mapped_file_reopen(int path)
{
	struct stat status;
	char name[32];
	int fd;

	if (fstat(path, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	do
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	return fd;
}
