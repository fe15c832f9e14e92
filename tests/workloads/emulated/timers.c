/*
 * timers - one of a descriptor until a time 0.3 s from now, then one that runs out twice after 0.1 s; says when they
 * did
 */
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "emulated.h"

static int
wait_for(int timer, int flags, const struct itimerspec *when)
{
	uint64_t times;

	if (when && timerfd_settime(timer, flags, when, NULL) < 0)
		return -1;
	return read(timer, &times, sizeof(times)) == sizeof(times) ? 0 : -1;
}

int
main(void)
{
	const int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
	struct itimerspec until = {.it_value = {0}};
	const struct itimerspec each = {.it_value = {.tv_nsec = 100000000}, .it_interval = {.tv_nsec = 100000000}};
	const double begin = now_s();
	double first;

	clock_gettime(CLOCK_REALTIME, &until.it_value);
	until.it_value.tv_nsec += 300000000;
	until.it_value.tv_sec += until.it_value.tv_nsec / 1000000000;
	until.it_value.tv_nsec %= 1000000000;
	if (timer < 0 || wait_for(timer, TFD_TIMER_ABSTIME, &until) < 0)
		return 1;
	first = now_s();
	if (wait_for(timer, 0, &each) < 0 || wait_for(timer, 0, NULL) < 0)
		return 1;
	printf("%.1f %.1f\n", first - begin, now_s() - begin);
	return 0;
}
