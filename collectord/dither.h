/*
 * dither.h - varying sampling periods, so that sampling does not keep step with loops
 *
 * A fixed period of n events sees only one place of a loop of n, 2n or n/2 events. DCPI drew each period
 * from 60K to 64K for that (TOCS 15(4), 4.1.1). The kernel sets a period by a call, which interrupts the CPU:
 * too expensive for each sample. So a period is kept for a stretch of samples, for half a second to a second on a busy
 * CPU, and lies within a twelfth of the mean instead of within 3 %: within a stretch, samples walk through a loop in
 * steps of how far the two lengths are apart, and where they begin is chance. The shares of a program of 2.5 s with the
 * worst of loops are off by 2.7 times, at the worst, what they would be if each sample had been taken at random; with 3
 * % it would be four times.
 *
 * A change cuts the period under way short, half of it in the mean, whose events no sample stands for. That, and what a
 * stretch was longer or shorter than the mean, is owed, and paid back by the periods that follow: samples times the
 * mean period remain the events. Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_DITHER_H
#define DCPI_COLLECTORD_DITHER_H

#include <stdbool.h>
#include <stdint.h>

#define DITHER_REACH       12                  /* a period varies by the mean divided by it, to either side */
#define DITHER_REPAYMENT   32                  /* and pays back no more than the mean divided by it */
#define DITHER_PERIOD_MIN  64                  /* shorter ones are left alone: they are next to nothing */
#define DITHER_SAMPLES     32                  /* a stretch has at least so many: half a sample is lost with each */
#define DITHER_INTERVAL_NS UINT64_C(450000000) /* and lasts at least so long: a change costs 30 to 190 us */

/* One counter. The embedder counts `samples` up, and sets `grain` before it begins. */
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

/* The highest mean rate with which even the shortest period samples at most `limit` times a second. */
uint64_t dither_rate_limit(uint64_t limit);

#endif
