#include "profile/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define WRITER_LOCK_MODE 0600 /* who may open it may lock it, and keep writers away */
#define PID_TEXT_SIZE    16
#define LEFT_LOOKS       100 /* in a second */

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

static bool
is_owner_gone(int lock)
{
	const pid_t owner = read_pid(lock);

	return owner > 0 && kill(owner, 0) < 0 && errno == ESRCH;
}

/* Who was killed while it started a program may have left a child that has the lock until that is executed. */
static int
take(int lock)
{
	const struct timespec moment = {.tv_nsec = 1000000000 / LEFT_LOOKS};
	struct flock range = whole_file();

	for (unsigned looks = 0; fcntl(lock, F_OFD_SETLK, &range) < 0; looks++) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		if (looks == LEFT_LOOKS || !is_owner_gone(lock))
			return -DCPI_ERUNNING;
		nanosleep(&moment, NULL);
	}
	return 0;
}

int
writer_lock(int directory)
{
	int lock = openat(directory, WRITER_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
	                  WRITER_LOCK_MODE);
	int err;

	if (lock < 0)
		return errno == ELOOP ? -DCPI_ESYMLINK : -errno;
	err = take(lock);
	/* an older version let the group read it */
	if (!err && fchmod(lock, WRITER_LOCK_MODE) < 0 && errno != EPERM)
		err = -errno;
	if (!err)
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
