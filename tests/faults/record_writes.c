/*
 * record_writes - preloaded into a program: what it does to data.mdb goes to the file RECORD_WRITES as well
 *
 * Through LMDB, which writes pages with pwrite(2) or writev(2), syncs, and writes a meta page through a descriptor of
 * its own, opened with O_DSYNC. See disk_log.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "disk_log.h"

#define DESCRIPTORS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_data[DESCRIPTORS], is_synced[DESCRIPTORS];
static int log_fd = -1;

static bool
watched(int fd)
{
	return fd >= 0 && fd < DESCRIPTORS && is_data[fd];
}

static void
put(const void *data, size_t size)
{
	if (syscall(SYS_write, log_fd, data, size) != (long)size)
		abort();
}

static void
log_operation(enum disk_operation operation, uint64_t offset, const struct iovec *parts, int count)
{
	struct disk_record record = {.operation = operation, .offset = offset};
	int before = errno;

	for (int i = 0; i < count; i++)
		record.size += parts[i].iov_len;
	pthread_mutex_lock(&lock);
	if (log_fd < 0)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD_WRITES"),
		                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	put(&record, sizeof(record));
	for (int i = 0; i < count; i++)
		put(parts[i].iov_base, parts[i].iov_len);
	pthread_mutex_unlock(&lock);
	errno = before;
}

static int
note_open(int fd, const char *path, int flags)
{
	const char *name = strrchr(path, '/');

	if (fd < 0 || fd >= DESCRIPTORS)
		return fd;
	is_data[fd] = strcmp(name ? name + 1 : path, "data.mdb") == 0 && (flags & O_ACCMODE) != O_RDONLY;
	is_synced[fd] = flags & O_DSYNC;
	return fd;
}

int
open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return note_open((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode), path, flags);
}

int
openat(int directory, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return note_open((int)syscall(SYS_openat, directory, path, flags, mode), path, flags);
}

int
close(int fd)
{
	if (watched(fd))
		is_data[fd] = false;
	return (int)syscall(SYS_close, fd);
}

static enum disk_operation
write_kind(int fd)
{
	return is_synced[fd] ? DISK_WRITE_SYNCED : DISK_WRITE;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	const struct iovec part = {(void *)data, size};
	ssize_t written = syscall(SYS_pwrite64, fd, data, size, offset);

	if (written > 0 && watched(fd))
		log_operation(write_kind(fd), (uint64_t)offset, &part, 1);
	return written;
}

ssize_t
writev(int fd, const struct iovec *parts, int count)
{
	const off_t offset = watched(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
	ssize_t written = syscall(SYS_writev, fd, parts, count);

	if (written > 0 && watched(fd))
		log_operation(write_kind(fd), (uint64_t)offset, parts, count);
	return written;
}

ssize_t
write(int fd, const void *data, size_t size)
{
	const off_t offset = watched(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
	const struct iovec part = {(void *)data, size};
	ssize_t written = syscall(SYS_write, fd, data, size);

	if (written > 0 && watched(fd))
		log_operation(write_kind(fd), (uint64_t)offset, &part, 1);
	return written;
}

int
fdatasync(int fd)
{
	int result = (int)syscall(SYS_fdatasync, fd);

	if (result == 0 && watched(fd))
		log_operation(DISK_SYNC, 0, NULL, 0);
	return result;
}

int
fsync(int fd)
{
	int result = (int)syscall(SYS_fsync, fd);

	if (result == 0 && watched(fd))
		log_operation(DISK_SYNC, 0, NULL, 0);
	return result;
}

int
ftruncate(int fd, off_t size)
{
	int result = (int)syscall(SYS_ftruncate, fd, size);

	if (result == 0 && watched(fd))
		log_operation(DISK_TRUNCATE, (uint64_t)size, NULL, 0);
	return result;
}

int
mdb_txn_commit(MDB_txn *txn)
{
	static __typeof__(&mdb_txn_commit) real;
	int rc;

	if (!real)
		real = (__typeof__(&mdb_txn_commit))dlsym(RTLD_NEXT, "mdb_txn_commit");
	rc = real(txn);
	if (rc == 0)
		log_operation(DISK_COMMITTED, 0, NULL, 0);
	return rc;
}
