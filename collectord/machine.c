#include "collectord/machine.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "event/small_file.h"

#define LARGE_BYTES (128 << 10) /* glibc's, which it would raise by itself */

static void
raise_limit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_max == RLIM_INFINITY || (most != RLIM_INFINITY && limit.rlim_max > most))
		most = limit.rlim_max;
	/* more than the hard limit is for the privileged only; all of it is for everybody */
	if (setrlimit(resource, &(struct rlimit){.rlim_cur = most, .rlim_max = most}) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

void
machine_raise_limits(void)
{
	raise_limit(RLIMIT_NOFILE, 1 << 20); /* a descriptor per event and CPU; fs.nr_open, which is the ceiling */
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

void
machine_tune_allocator(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

void
machine_trim_heap(void)
{
	malloc_trim(0);
}

static uint64_t
time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

uint64_t
machine_cpu_time_ns(void)
{
	struct rusage usage, others;

	if (getrusage(RUSAGE_SELF, &usage) || getrusage(RUSAGE_CHILDREN, &others))
		return 0;
	return time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime) + time_ns(&others.ru_utime) +
	       time_ns(&others.ru_stime);
}

uint64_t
machine_busy_ns(const char *procfs)
{
	unsigned long long ticks[8] = {0}; /* user, nice, system, idle, iowait, irq, softirq, steal */
	uint64_t busy = 0;
	char text[256];

	if (small_file_read(text, sizeof(text), "%s/stat", procfs))
		return 0;
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
	           &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 4)
		return 0;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		if (i != 3 && i != 4)
			busy += ticks[i];
	return busy * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void
machine_memory(struct machine_memory *memory)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long total, resident, shared;
	char text[128];

	*memory = (struct machine_memory){0};
	if (small_file_read(text, sizeof(text), "/proc/self/statm"))
		return;
	if (sscanf(text, "%llu %llu %llu", &total, &resident, &shared) != 3 || shared > resident)
		return;
	memory->resident_bytes = resident * page;
	memory->own_bytes = (resident - shared) * page;
}

uint64_t
machine_clock_ns(int clock_id)
{
	struct timespec now;

	if (clock_gettime((clockid_t)clock_id, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
