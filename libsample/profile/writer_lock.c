#include "profile/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define WRITER_LOCK_MODE 0640
#define PID_TEXT_SIZE    16

/* The whole file, of the open file description: other descriptors of this process do not release it. */
static struct flock
whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int
write_pid(int lock)
{
	char text[PID_TEXT_SIZE];
	int size = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(lock, 0) < 0)
		return -errno;
	if (pwrite(lock, text, (size_t)size, 0) != size)
		return errno ? -errno : -EIO;
	return 0;
}

int
writer_lock(int directory)
{
	int lock = openat(directory, WRITER_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
	                  WRITER_LOCK_MODE);
	struct flock range = whole_file();
	int err;

	if (lock < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	if (fcntl(lock, F_OFD_SETLK, &range) < 0)
		err = errno == EAGAIN || errno == EACCES ? -DCPI_ERUNNING : -errno;
	else if (fchmod(lock, WRITER_LOCK_MODE) < 0 && errno != EPERM) /* whatever the umask: readers ask who writes */
		err = -errno;
	else
		err = write_pid(lock);
	if (!err)
		return lock;
	close(lock);
	return err;
}

void
writer_unlock(int lock)
{
	/* The file stays: another writer may wait with it open already. */
	if (ftruncate(lock, 0) < 0)
		(void)errno; /* a stale id means nothing without the lock */
	close(lock);
}

static pid_t
read_pid(int lock)
{
	char text[PID_TEXT_SIZE], *end;
	ssize_t size = pread(lock, text, sizeof(text) - 1, 0);
	long pid;

	if (size < 0)
		return -errno;
	text[size] = '\0';
	errno = 0;
	pid = strtol(text, &end, 10);
	return errno || *end != '\n' || pid <= 0 || pid > INT32_MAX ? -EAGAIN : (pid_t)pid;
}

pid_t
writer_lock_owner(int directory)
{
	int lock = openat(directory, WRITER_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct flock range = whole_file();
	pid_t owner;

	if (lock < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(lock, F_OFD_GETLK, &range) < 0)
		owner = -errno;
	else
		owner = range.l_type == F_UNLCK ? 0 : read_pid(lock);
	close(lock);
	return owner;
}
