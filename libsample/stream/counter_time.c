#include "stream/counter_time.h"

uint64_t
counter_time_ns(const struct counter_time *time, uint64_t ticks)
{
	uint64_t whole, rest;

	if (!time->multiplier)
		return 0;
	ticks = time->cycles + ((ticks - time->cycles) & time->mask);
	whole = ticks >> time->shift;
	rest = ticks & ((UINT64_C(1) << time->shift) - 1);
	return time->zero_ns + whole * time->multiplier + (rest * time->multiplier >> time->shift);
}
