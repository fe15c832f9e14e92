#include "collectord/dither.h"

#define GOLDEN_RATIO UINT32_C(0x9e3779b9) /* of 2^32: its multiples are spread evenly, wherever one stops */
#define CPU_STRIDE   UINT32_C(0x6a09e667) /* of the square root of 2: CPUs do not repeat each other's steps */
#define PACE_MAX     1e12                 /* the longest period that follows a rate */
#define PATIENCE     16 /* stretches in which owed events are paid back; sooner would undo what was drawn */

/* What waits in a ring is estimated: there may be fewer than none for a while. */
static int32_t
clamp_samples(const struct dither *dither)
{
	return dither->samples > 0 ? dither->samples : 0;
}

static double
clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* Too many or too few events that the samples of this stretch stand for, without what a change cuts short. */
static double
missed(const struct dither *dither)
{
	return ((double)dither->period - (double)dither->mean) * dither->samples;
}

/* By how much the periods of the next stretch are shorter; it will have about as many samples as this one. */
static double
repayment(const struct dither *dither, double owed)
{
	const double samples = dither->samples > DITHER_SAMPLES ? dither->samples : DITHER_SAMPLES;

	return clamp(owed / samples / PATIENCE, (double)dither->mean / DITHER_REPAYMENT);
}

static uint64_t
draw(const struct dither *dither, uint32_t cpu, double owed)
{
	const double mean = (double)dither->mean, grain = dither->grain ? dither->grain : 1;
	const uint32_t place = dither->step * GOLDEN_RATIO + cpu * CPU_STRIDE; /* of 2^32, modulo it */
	double period;

	if (mean < DITHER_PERIOD_MIN * grain)
		return dither->mean;
	period = mean - repayment(dither, owed) + mean / DITHER_REACH * (place / 2147483648.0 - 1);
	return (uint64_t)(period / grain + 0.5) * (uint64_t)grain;
}

static void
begin_stretch(struct dither *dither, uint64_t period, uint64_t now_ns)
{
	dither->period = period;
	dither->samples = 0;
	dither->since_ns = now_ns;
	dither->step++;
}

uint64_t
dither_begin(struct dither *dither, uint64_t mean, uint32_t cpu, uint64_t now_ns)
{
	dither->mean = mean;
	dither->owed = 0;
	dither->samples = 0;
	begin_stretch(dither, draw(dither, cpu, 0), now_ns);
	return dither->period;
}

bool
dither_is_due(const struct dither *dither, uint64_t now_ns)
{
	const uint64_t lasted_ns = now_ns - dither->since_ns;

	if (dither->samples < DITHER_SAMPLES || lasted_ns < DITHER_INTERVAL_NS)
		return false;
	return dither->samples >= DITHER_WANTED || lasted_ns >= DITHER_PATIENCE_NS;
}

uint64_t
dither_next(const struct dither *dither, uint32_t cpu)
{
	return draw(dither, cpu, dither->owed + missed(dither) + (double)dither->period / 2);
}

void
dither_change(struct dither *dither, uint64_t period, uint64_t now_ns)
{
	dither->owed += missed(dither) + (double)dither->period / 2;
	begin_stretch(dither, period, now_ns);
}

void
dither_keep(struct dither *dither, uint64_t now_ns)
{
	dither->owed += missed(dither);
	begin_stretch(dither, dither->period, now_ns);
}

bool
dither_pace_is_due(const struct dither *dither, uint64_t rate, uint64_t now_ns)
{
	return now_ns - dither->since_ns >= DITHER_INTERVAL_NS || (uint64_t)clamp_samples(dither) >= rate;
}

uint64_t
dither_pace(struct dither *dither, uint64_t rate, uint32_t cpu, uint64_t now_ns)
{
	const double seconds = (double)(now_ns - dither->since_ns + 1) / 1e9;
	const double mean = (double)dither->period * clamp_samples(dither) / seconds / (double)rate;

	dither->mean = mean < 1 ? 1 : mean > PACE_MAX ? (uint64_t)PACE_MAX : (uint64_t)mean;
	dither->owed = 0; /* samples are weighted by what they stand for */
	return draw(dither, cpu, 0);
}

uint64_t
dither_rate_limit(uint64_t limit)
{
	const uint64_t whole = DITHER_REACH * DITHER_REPAYMENT; /* the mean; the shortest is so many parts of it */
	const uint64_t shortest = whole - DITHER_REPAYMENT - DITHER_REACH;

	return limit / whole * shortest + limit % whole * shortest / whole;
}
