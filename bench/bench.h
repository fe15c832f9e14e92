/*
 * bench.h - what the benchmarks share
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BENCH_BENCH_H
#define DCPI_BENCH_BENCH_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"

/* The samples that dcpid asks for, as event_sample_attr() does. */
#define BENCH_SAMPLE_TYPE                                                                                              \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP)

static inline uint64_t
bench_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A benchmark has nothing to say once something fails. */
static inline void
bench_require(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, error_text(err));
	exit(EXIT_FAILURE);
}

#endif
