/*
 * emulated.h - what the workloads for emulators share
 *
 * What they print on standard output depends on their arguments alone, so that runs with and without an emulator can be
 * compared. With "time" as their last argument they also say on standard error how long the measured part took, by the
 * clock that they see.
 */
#ifndef DCPI_WORKLOADS_EMULATED_H
#define DCPI_WORKLOADS_EMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static inline double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Takes "time" off the arguments. */
static inline bool
asked_for_time(int *argc, char **argv)
{
	if (*argc < 2 || strcmp(argv[*argc - 1], "time") != 0)
		return false;
	--*argc;
	return true;
}

/* The argument at `index`, or `otherwise` when it is missing. */
static inline size_t
argument(int argc, char **argv, int index, size_t otherwise)
{
	return index < argc ? strtoull(argv[index], NULL, 0) : otherwise;
}

/* Zeros at the beginning of a page; the program ends when there are none. */
static inline void *
get_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

static inline uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
