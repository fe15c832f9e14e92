#include "collectord/clock_bell.h"

#include <errno.h>
#include <limits.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A timer that never comes, but is cancelled when its clock leaps: that can be waited for. */
int
clock_bell_open(void)
{
	const struct itimerspec never = {.it_value.tv_sec = INT_MAX}; /* 2038, after which the next drain will do */
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

void
clock_bell_clear(int fd)
{
	char told[512];

	if (fd >= 0 && read(fd, told, sizeof(told)) < 0)
		return; /* so it tells that it was cancelled, or that it was not */
}
