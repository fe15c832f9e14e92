#include "emulator/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUANTUM_CYCLES 100000
#define SEED           1

static const char *const part_names[SETUP_PART_COUNT] = {
	"counts", "caches", "tlbs", "branches", "clock", "samples", "truth",
};

/* Periods are primes: a loop's length is no divisor of them. */
static const struct {
	const char *name;
	uint32_t parts;
	uint64_t period;
} events[SETUP_EVENT_COUNT] = {
	[SETUP_EVENT_CYCLES] = {"cycles", SETUP_CLOCK, 5003},
	[SETUP_EVENT_LEVEL1_DATA] = {"L1-dcache-load-misses", SETUP_CACHES, 499},
	[SETUP_EVENT_LEVEL1_CODE] = {"L1-icache-load-misses", SETUP_CACHES, 499},
	[SETUP_EVENT_LEVEL2] = {"l2-misses", SETUP_CACHES, 199},
	[SETUP_EVENT_LAST_LEVEL] = {"cache-misses", SETUP_CACHES, 97},
	[SETUP_EVENT_DATA_TLB] = {"dTLB-load-misses", SETUP_TLBS, 97},
	[SETUP_EVENT_CODE_TLB] = {"iTLB-load-misses", SETUP_TLBS, 97},
	[SETUP_EVENT_DATA_WALK] = {"dTLB-load-walks", SETUP_TLBS, 97},
	[SETUP_EVENT_CODE_WALK] = {"iTLB-load-walks", SETUP_TLBS, 97},
	[SETUP_EVENT_BRANCH] = {"branch-misses", SETUP_BRANCHES, 199},
	[SETUP_EVENT_TRANSFER] = {"hitm", SETUP_CACHES, 97},
};

const char *
setup_part_name(unsigned bit)
{
	return bit < SETUP_PART_COUNT ? part_names[bit] : NULL;
}

const char *
setup_event_name(enum setup_event event)
{
	return event < SETUP_EVENT_COUNT ? events[event].name : NULL;
}

uint32_t
setup_event_parts(enum setup_event event)
{
	return events[event].parts;
}

uint64_t
setup_event_period(enum setup_event event)
{
	return events[event].period;
}

void
setup_init(struct setup *setup, unsigned threads)
{
	memset(setup, 0, sizeof(*setup));
	setup->magic = SETUP_MAGIC;
	setup->size = sizeof(*setup);
	setup->parts = SETUP_EVERYTHING;
	setup->threads = threads;
	setup->quantum_cycles = QUANTUM_CYCLES;
	setup->seed = SEED;
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++)
		setup->periods[i] = events[i].period;
}

int
setup_write(const struct setup *setup, const char *directory)
{
	char path[PATH_MAX];
	ssize_t written;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/" SETUP_NAME, directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	written = TEMP_FAILURE_RETRY(write(fd, setup, sizeof(*setup)));
	if (written != (ssize_t)sizeof(*setup))
		err = written < 0 ? -errno : -ENOSPC;
	if (close(fd) < 0 && !err)
		err = -errno;
	return err;
}
