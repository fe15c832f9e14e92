/*
 * overhead.h - what sampling costs: expected from rates, measured from samples
 *
 * Both are shares of the processor time of all CPUs, in percent, dcpid's own included. The daemon and the tools use
 * these functions, so that `dcpictl status` and reports agree.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_OVERHEAD_H
#define DCPI_PROFILE_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/epoch.h"

/*
 * Processor time that dcpid is expected to use for one sample, flushes included. Measured are 100 to 700 ns in the long
 * run. In its first seconds, when it captures names and code of all programs, it uses up to a fifth of what sampling
 * costs in all, where a sample is expensive and so there are few.
 */
#define OVERHEAD_DAEMON_SAMPLE_NS 1000

/* Processor time that dcpid is expected to use for a call stack: docs/benchmarks.md. */
#define OVERHEAD_STACK_NS 15000

static inline uint64_t
overhead_daemon_sample_ns(uint64_t cost_ns)
{
	return cost_ns / 4 > OVERHEAD_DAEMON_SAMPLE_NS ? cost_ns / 4 : OVERHEAD_DAEMON_SAMPLE_NS;
}

/*
 * The expected cost of these events on a machine whose CPUs are all busy: rate times cost; of events that are one event
 * on cores of several kinds, the most expensive. Events whose rate depends on the programs are left out. False when
 * there is no event with a known rate, or one whose cost is not known.
 */
bool overhead_expected(const struct event *events, size_t count, double *percent);

/* The measured cost. */
struct overhead {
	uint64_t interrupts; /* samples, and ticks that found a CPU idle */
	uint64_t sample_ns;  /* processor time that these cost */
	uint64_t daemon_ns;  /* that dcpid used */
	uint64_t cpu_ns;     /* of all CPUs: the whole */
	uint64_t start_ns;   /* of dcpid's start; in none of the others */
	bool is_unknown;     /* there are samples whose cost is not known; sample_ns is without them */
};

/*
 * The processor time of all CPUs together in a slice of `length_ns`: for how long its events were enabled, which
 * follows CPUs that come and go. Where that was not recorded, `length_ns` of `cpu_count` CPUs.
 */
uint64_t overhead_cpu_ns(const struct event *events, const struct slice_event *counted, size_t count,
                         uint64_t length_ns, uint32_t cpu_count);

/*
 * The ticks of events[index] that found their CPU idle, and made no sample. Of the `count` events of an epoch, its sum
 * (EVENT_SUM_SUFFIX) says for how long (enabled_ns), and with which period (encoding.config), idle CPUs were sampled
 * rarely. 0 of an event that is no clock, or whose idle time counts.
 */
uint64_t overhead_idle_ticks(const struct event *events, const struct slice_event *counted, size_t count, size_t index);

/* Add the samples of events[index], lost ones too, and its idle ticks: the CPU was interrupted for each. */
void overhead_add(struct overhead *overhead, const struct event *events, const struct slice_event *counted,
                  size_t count, size_t index);

/* The share of dcpid, and that of samples and dcpid together; 0 when cpu_ns is 0. */
double overhead_daemon_percent(const struct overhead *overhead);
double overhead_percent(const struct overhead *overhead);

/* Is the start to be reported? Not below 0.01 % of the whole, the precision of the other shares. */
bool overhead_shows_start(const struct overhead *overhead);

#endif
