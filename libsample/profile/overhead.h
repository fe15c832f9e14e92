/*
 * overhead.h - what sampling costs: expected from rates, measured from samples
 *
 * Both are shares of the processor time of all CPUs, in percent, dcpid's own included. The daemon and the tools use
 * these same sums, so that what `dcpictl status` says is what reports say.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_OVERHEAD_H
#define DCPI_PROFILE_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/epoch.h"

/* What dcpid is expected to use itself for one sample, flushes and all: measured are 100 to 700 ns. */
#define OVERHEAD_DAEMON_SAMPLE_NS 1000

/*
 * What these events are to cost a machine whose CPUs are all busy: rate times cost. Events whose rate depends on what
 * programs do are left out. False when there is no event with a known rate, or one whose cost is not known.
 */
bool overhead_expected(const struct event *events, size_t count, double *percent);

/* What it did cost. */
struct overhead {
	uint64_t sample_ns; /* processor time that taking the samples cost */
	uint64_t daemon_ns; /* that dcpid used */
	uint64_t cpu_ns;    /* of all CPUs: the whole */
	bool is_unknown;    /* there are samples whose cost is not known; sample_ns is without them */
};

/* Add the samples of `event`, lost ones too: the CPU was interrupted for them. */
void overhead_add(struct overhead *overhead, const struct event *event, const struct slice_event *counted);

/* dcpid's share, and that of the samples and dcpid; 0 of no time. */
double overhead_daemon_percent(const struct overhead *overhead);
double overhead_percent(const struct overhead *overhead);

#endif
