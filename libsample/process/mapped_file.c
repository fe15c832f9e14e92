#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
open_in(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	const long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int
mapped_file_below_root(int procfs, uint32_t pid, const char *path)
{
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "%" PRIu32 "/root", pid);
	root = openat(procfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_in(root, path);
	close(root);
	return fd;
}

static int
open_link(int procfs, const char *name)
{
	const int fd = openat(procfs, name, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
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
	return fd < 0 ? -errno : fd;
}
