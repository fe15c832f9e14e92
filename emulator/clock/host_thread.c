#include "emulator/clock/host_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t
host_thread_sleep_count(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) < 0)
		return 0;
	return (uint64_t)usage.ru_nvcsw;
}

/* The thread's state, as in "PID (NAME) STATE ...": the name may hold any character. 'X': it has ended. */
static char
host_thread_state(int thread)
{
	char path[64], text[256];
	const char *end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X';
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 'X';
	text[length] = '\0';
	end = strrchr(text, ')');
	if (!end || end[1] != ' ' || !end[2])
		return 'X';
	return end[2];
}

/*
 * A thread that waits for a page, or is stopped, does not need another thread to go on: it does not count as sleeping.
 */
bool
host_thread_sleeps(int thread)
{
	const char state = host_thread_state(thread);

	return state == 'S' || state == 'Z' || state == 'X';
}

bool
host_thread_runs(int thread)
{
	return host_thread_state(thread) == 'R';
}
