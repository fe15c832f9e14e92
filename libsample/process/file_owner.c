#include "process/file_owner.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/mapped_file.h"

static int
check_owner(void *context, int fd)
{
	struct statfs system;
	struct stat status;

	(void)context;
	if (fstat(fd, &status) < 0 || fstatfs(fd, &system) < 0)
		return -errno;
	if (status.st_uid != 0 || (status.st_mode & S_IWOTH) || ((status.st_mode & S_IWGRP) && status.st_gid != 0))
		return -EPERM;
	return system.f_type == FUSE_SUPER_MAGIC ? -EPERM : 0;
}

int
file_owner_open_roots(int procfs, const char *path)
{
	int fd, err;

	if (path[0] != '/')
		return -EPERM;
	fd = mapped_file_walk(procfs, (uint32_t)getpid(), path, check_owner, NULL);
	if (fd < 0)
		return fd;
	err = check_owner(NULL, fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

bool
file_owner_is_root(int procfs, const char *path, int fd)
{
	const int roots = file_owner_open_roots(procfs, path);
	struct stat one, other;
	bool is_root;

	if (roots < 0)
		return false;
	is_root = fstat(fd, &one) == 0 && fstat(roots, &other) == 0 && one.st_dev == other.st_dev &&
	          one.st_ino == other.st_ino;
	close(roots);
	return is_root;
}
