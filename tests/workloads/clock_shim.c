/*
 * clock_shim.c - a machine whose clock is set and which sleeps, for the one process that has this library preloaded
 *
 * The file $CLOCK_SHIM holds two numbers, in seconds: how far CLOCK_REALTIME was set forward, and for how long the
 * machine has slept, which takes CLOCK_BOOTTIME and CLOCK_REALTIME on but not CLOCK_MONOTONIC. It is read at each call.
 * A timer of CLOCK_REALTIME, which the kernel cancels when that leaps, can be read when a file was renamed to it.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void
read_offsets(long offsets[2])
{
	const char *path = getenv("CLOCK_SHIM");
	char text[64] = "", *end = text;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	offsets[0] = strtol(end, &end, 10);
	offsets[1] = strtol(end, &end, 10);
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	long offsets[2];
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (result || (clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME))
		return result;
	read_offsets(offsets);
	now->tv_sec += offsets[1];
	if (clock == CLOCK_REALTIME)
		now->tv_sec += offsets[0];
	return 0;
}

static int bell = -1;

int
timerfd_create(int clock, int flags)
{
	const char *path = getenv("CLOCK_SHIM");
	char directory[PATH_MAX];

	if (clock != CLOCK_REALTIME || !path)
		return (int)syscall(SYS_timerfd_create, clock, flags);
	snprintf(directory, sizeof(directory), "%s", path);
	bell = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (bell >= 0 && inotify_add_watch(bell, dirname(directory), IN_MOVED_TO) < 0)
		return -1;
	return bell;
}

int
timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	return fd == bell ? 0 : (int)syscall(SYS_timerfd_settime, fd, flags, when, before);
}
