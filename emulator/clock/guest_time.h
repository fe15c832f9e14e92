/*
 * guest_time.h - cycles of the target as the times that the guest reads, and back
 *
 * Cycle 0 is a fixed date, so that runs are alike; with seed 0 it is the host's present.
 * Thread rule: constant once made, for any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_TIME_H
#define DCPI_EMULATOR_GUEST_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GUEST_TIME_REAL_S      INT64_C(1893456000) /* 2030-01-01: later than any file is */
#define GUEST_TIME_MONOTONIC_S 1000                /* since the machine was started */
#define GUEST_TIME_COARSE_NS   4000000             /* of the clocks that tick: 250 Hz */

struct guest_time {
	uint64_t clock_khz;
	int64_t real_ns, monotonic_ns; /* at cycle 0 */
};

void guest_time_init(struct guest_time *time, double clock_mhz, uint64_t seed);

uint64_t guest_time_ns(const struct guest_time *time, uint64_t cycles);
uint64_t guest_time_cycles(const struct guest_time *time, uint64_t ns);

/* What clock `id` (CLOCK_...) shows after so many cycles; false: it does not show virtual time. */
bool guest_time_read(const struct guest_time *time, int id, uint64_t cycles, struct timespec *shown);

/* When clock `id` shows that: cycles, 0 for times before cycle 0. False: it does not show virtual time. */
bool guest_time_when(const struct guest_time *time, int id, const struct timespec *shown, uint64_t *cycles);

#endif
