/*
 * fail_disk.c - a disk that fails or hangs, for the one process that has this library preloaded
 *
 * While the file $FAIL_DISK is there, what is written to files named data.mdb... fails with the error whose number the
 * file holds. When it says "slow MILLISECONDS NAME" instead, each 4 KiB that is written to files of that name, and each
 * sync of them, takes so long.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PIECE 4096

/* The name of the database's file that `fd` is; NULL: it is none. */
static const char *
database_name(int fd, char path[4096])
{
	char link[64], *name;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, 4095);
	if (length < 0)
		return NULL;
	path[length] = '\0';
	name = strrchr(path, '/');
	return name && strncmp(name, "/data.mdb", 9) == 0 ? name + 1 : NULL;
}

/* Not longer than the file is there. */
static void
sleep_ms(long ms)
{
	const struct timespec step = {.tv_nsec = 20000000};

	for (; ms > 0 && access(getenv("FAIL_DISK"), F_OK) == 0; ms -= 20)
		nanosleep(&step, NULL);
}

/* What is to become of a call: 0, or its error; *ms for each piece. */
static int
fate_of(int fd, long *ms)
{
	const char *fate = getenv("FAIL_DISK"), *name;
	char path[4096], text[64] = "", slow_name[32];
	int file;

	*ms = 0;
	name = fate ? database_name(fd, path) : NULL;
	if (!name)
		return 0;
	file = open(fate, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(file);
	if (sscanf(text, "slow %ld %31s", ms, slow_name) != 2)
		return (int)strtol(text, NULL, 10);
	if (strcmp(slow_name, name) != 0)
		*ms = 0;
	return 0;
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* Piece by piece, so that a caller that is to stop can. */
ssize_t
write(int fd, const void *data, size_t size)
{
	__typeof__(&write) next = NEXT(write);
	size_t done = 0, piece;
	ssize_t written = 0;
	long ms;

	errno = fate_of(fd, &ms);
	if (errno)
		return -1;
	if (ms == 0)
		return next(fd, data, size);
	for (; done < size && written >= 0; done += (size_t)written) {
		sleep_ms(ms);
		piece = size - done < PIECE ? size - done : PIECE;
		written = next(fd, (const char *)data + done, piece);
		if (written < 0)
			return done ? (ssize_t)done : -1;
	}
	return (ssize_t)done;
}

/* At once, then, as long as all its pieces would take. */
#define SLOWLY(call, bytes)                                                                                            \
	do {                                                                                                           \
		long ms;                                                                                               \
                                                                                                                       \
		errno = fate_of(fd, &ms);                                                                              \
		if (errno)                                                                                             \
			return -1;                                                                                     \
		sleep_ms(ms *(long)(((bytes) + PIECE - 1) / PIECE));                                                   \
		return call;                                                                                           \
	} while (0)

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	SLOWLY(NEXT(pwrite)(fd, data, size, offset), size);
}

ssize_t
writev(int fd, const struct iovec *parts, int count)
{
	SLOWLY(NEXT(writev)(fd, parts, count), 1);
}

int
fdatasync(int fd)
{
	SLOWLY(NEXT(fdatasync)(fd), 1);
}

int
fsync(int fd)
{
	SLOWLY(NEXT(fsync)(fd), 1);
}
