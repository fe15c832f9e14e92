/*
 * dither.h - varying sampling periods, so that sampling does not keep step with loops
 *
 * A fixed period of n events samples only one place of a loop of n, 2n or n/2 events. For that reason DCPI drew each
 * period from 60K to 64K (TOCS 15(4), 4.1.1). The kernel sets a period by a system call, which interrupts the CPU: too
 * expensive for each sample. So a period is kept for a stretch of samples: half a second to a second on a busy CPU, and
 * two seconds where fewer than 900 samples are taken in one.
 * Within a stretch, samples move through a loop in steps of the difference between the two lengths, and where they
 * begin is chance. So a period lies within a twelfth of the mean, not within 3 %. The shares of a program of 2.5 s with
 * the worst of loops are then off by at most 2.7 times what they would be for random samples; with 3 % it would be four
 * times.
 *
 * A change cuts the current period short, on average by half, and no sample stands for the events of that half. These
 * events, and those by which a stretch was longer or shorter than the mean, are owed, and the periods that follow pay
 * them back: samples times the mean period remain the events. Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_DITHER_H
#define DCPI_COLLECTORD_DITHER_H

#include <stdbool.h>
#include <stdint.h>

#define DITHER_REACH       12                   /* a period varies by the mean divided by it, to either side */
#define DITHER_REPAYMENT   32                   /* and pays back no more than the mean divided by it */
#define DITHER_PERIOD_MIN  64                   /* shorter ones are left alone: they are next to nothing */
#define DITHER_SAMPLES     32                   /* a stretch has at least so many: half a sample is lost with each */
#define DITHER_INTERVAL_NS UINT64_C(450000000)  /* and lasts at least so long: a change costs 30 to 190 us, */
#define DITHER_WANTED      900                  /* so that it waits for more samples, */
#define DITHER_PATIENCE_NS UINT64_C(1900000000) /* but no longer than this */

/* One counter. Whoever opened it counts `samples` up, and sets `grain` before the first period. */
struct dither {
	uint64_t mean, period; /* `period` is in force */
	uint32_t grain;        /* periods are multiples of it, as the mean must be; 0: any */
	uint64_t since_ns;     /* CLOCK_MONOTONIC */
	double owed;           /* events that were counted, more than samples times the mean */
	uint32_t step;
	int32_t samples; /* that were taken with the period */
};

/* The first period for CPU `cpu`; the steps of each CPU begin elsewhere. */
uint64_t dither_begin(struct dither *dither, uint64_t mean, uint32_t cpu, uint64_t now_ns);

bool dither_is_due(const struct dither *dither, uint64_t now_ns);

/* The period of the next stretch, if this one ended now. */
uint64_t dither_next(const struct dither *dither, uint32_t cpu);

/* The kernel took that period: book the stretch, and what was cut short. */
void dither_change(struct dither *dither, uint64_t period, uint64_t now_ns);

/* The kernel refused it: book the stretch; the period in force goes on for another, and nothing was cut short. */
void dither_keep(struct dither *dither, uint64_t now_ns);

/*
 * For an event that has a rate instead of a mean period. dither_begin() makes its first period 1; dither_pace() makes
 * the next one such that what was counted during this one would have given `rate` samples a second. That is due after
 * DITHER_INTERVAL_NS, or after a second's samples. So what happens seldom is sampled each time, and a burst gives few
 * more samples than `rate` before its period is long.
 */
bool dither_pace_is_due(const struct dither *dither, uint64_t rate, uint64_t now_ns);
uint64_t dither_pace(struct dither *dither, uint64_t rate, uint32_t cpu, uint64_t now_ns);

/* The highest mean rate with which even the shortest period samples at most `limit` times a second. */
uint64_t dither_rate_limit(uint64_t limit);

#endif
