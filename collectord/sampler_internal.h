/*
 * sampler_internal.h - what sampler.c and sampler_open.c share
 */
#ifndef DCPI_COLLECTORD_SAMPLER_INTERNAL_H
#define DCPI_COLLECTORD_SAMPLER_INTERNAL_H

#include "collectord/budget.h"
#include "collectord/sampler.h"
#include "stream/merge.h"

#define SAMPLER_PROCFS "/proc"

struct sampler_loss {
	uint64_t lost;      /* since the last take */
	uint64_t lost_read; /* the kernel's own count when it was last read (PERF_FORMAT_LOST) */
	uint64_t throttled;
};

struct sampler_counter {
	int fd; /* -1: not open on this CPU */
	uint64_t id;
	struct sampler_loss loss;
	uint32_t dither_step;
	unsigned undithered; /* samples since the period was changed last */
};

struct sampler_cpu {
	uint32_t number;
	struct ring *samples; /* NULL: no event could be opened here */
	struct ring *sideband;
	struct sampler_counter sideband_counter;
	struct sampler_counter counters[EVENTS_MAX];
	uint64_t skipped; /* samples whose event is not ours; damaged records are counted by the rings */
};

struct sampler {
	const struct log *log;
	struct event_features features;
	struct budget budget;
	struct event events[EVENTS_MAX];
	size_t event_count;
	struct slice_event totals[EVENTS_MAX]; /* since the last take */
	struct record_layout sample_layout;
	struct record_layout sideband_layout;
	struct sampler_cpu *cpus;
	size_t cpu_count;
	struct merge *merge;
	struct image_table *images;
	struct context_table *contexts;
	struct attribution *attribution;
	struct tally *tally;
	bool relieving;       /* give up samples that do not fit */
	bool records_lost;    /* records about processes, since /proc was read */
	uint64_t rescan_ns;   /* CLOCK_MONOTONIC, when it was read again; 0: not yet */
	uint64_t dithered_ns; /* CLOCK_MONOTONIC, when periods were changed last */
};

/* Change the periods of counters that had enough samples with theirs, once a second. */
void sampler_dither(struct sampler *sampler);

#endif
