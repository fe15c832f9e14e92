#include "collectord/dither.h"

#define GOLDEN_RATIO UINT32_C(0x9e3779b9) /* of 2^32: its multiples are spread evenly, wherever one stops */
#define CPU_STRIDE   UINT32_C(0x6a09e667) /* the square root's: CPUs do not repeat each other's steps */
#define PATIENCE     16                   /* stretches in which debts are paid; soon would undo what was drawn */

static double
clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* What the periods of the next stretch are shorter, which will have about as many samples as the last. */
static double
repayment(const struct dither *dither)
{
	const double samples = dither->samples > DITHER_SAMPLES ? dither->samples : DITHER_SAMPLES;

	return clamp(dither->owed / samples / PATIENCE, (double)dither->mean / DITHER_REPAYMENT);
}

static uint64_t
draw(struct dither *dither, uint32_t cpu, uint64_t now_ns)
{
	const double mean = (double)dither->mean, less = repayment(dither);
	const uint32_t place = dither->step++ * GOLDEN_RATIO + cpu * CPU_STRIDE; /* of 2^32, modulo it */

	dither->samples = 0;
	dither->since_ns = now_ns;
	dither->period = dither->mean;
	if (dither->mean >= DITHER_PERIOD_MIN)
		dither->period = (uint64_t)(mean - less + mean / DITHER_REACH * (place / 2147483648.0 - 1) + 0.5);
	return dither->period;
}

uint64_t
dither_begin(struct dither *dither, uint64_t mean, uint32_t cpu, uint64_t now_ns)
{
	dither->mean = mean;
	dither->owed = 0;
	dither->samples = 0;
	return draw(dither, cpu, now_ns);
}

bool
dither_is_due(const struct dither *dither, uint64_t now_ns)
{
	return dither->samples >= DITHER_SAMPLES && now_ns - dither->since_ns >= DITHER_INTERVAL_NS;
}

uint64_t
dither_change(struct dither *dither, uint32_t cpu, uint64_t now_ns)
{
	const double period = (double)dither->period;

	dither->owed += (period - (double)dither->mean) * dither->samples + period / 2;
	return draw(dither, cpu, now_ns);
}

uint64_t
dither_rate_limit(uint64_t limit)
{
	const uint64_t whole = DITHER_REACH * DITHER_REPAYMENT; /* the mean; the shortest is so many parts of it */
	const uint64_t shortest = whole - DITHER_REPAYMENT - DITHER_REACH;

	return limit / whole * shortest + limit % whole * shortest / whole;
}
