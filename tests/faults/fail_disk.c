/*
 * fail_disk.c - a disk that fails, for the one process that has this library preloaded
 *
 * While the file $FAIL_DISK is there, what is written to files named data.mdb fails with the error whose number the
 * file holds.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int
is_database(int fd)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	return strstr(path, "/data.mdb") != NULL;
}

/* 0: all is well. */
static int
error_of(int fd)
{
	const char *path = getenv("FAIL_DISK");
	char text[16] = "";
	int file;

	if (!path || !is_database(fd))
		return 0;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(file);
	return (int)strtol(text, NULL, 10);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	errno = error_of(fd);
	return errno ? -1 : NEXT(pwrite)(fd, data, size, offset);
}

ssize_t
writev(int fd, const struct iovec *parts, int count)
{
	errno = error_of(fd);
	return errno ? -1 : NEXT(writev)(fd, parts, count);
}

int
fdatasync(int fd)
{
	errno = error_of(fd);
	return errno ? -1 : NEXT(fdatasync)(fd);
}
