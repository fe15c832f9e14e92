/*
 * counter_time.h - from ticks of the processor's counter to the nanoseconds of a clock
 *
 * The formula is that of linux's include/uapi/linux/perf_event.h for cap_user_time_zero and cap_user_time_short.
 * Thread rule: stateless.
 */
#ifndef DCPI_STREAM_COUNTER_TIME_H
#define DCPI_STREAM_COUNTER_TIME_H

#include <stdint.h>

/* Zeroed, no time is known. */
struct counter_time {
	uint64_t zero_ns;      /* the clock at tick 0; it may have wrapped */
	uint64_t multiplier;   /* a tick lasts multiplier / 2^shift ns; 0: not known */
	unsigned shift;        /* 0 to 63 */
	uint64_t cycles, mask; /* a counter of fewer than 64 bits: a tick near `cycles`, and its bits; else 0 and all */
};

/* Ticks that do not fit the clock wrap. 0 if no time is known. */
uint64_t counter_time_ns(const struct counter_time *time, uint64_t ticks);

#endif
