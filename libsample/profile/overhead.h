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
 * What the events of `epoch` are to cost a machine whose CPUs are all busy: rate times cost. Events whose rate depends
 * on what programs do are left out. False when there is no event with a known rate and cost, or one whose cost is not
 * known.
 */
bool overhead_expected(const struct event *events, size_t count, double *percent);

/* Processor time that taking these samples of `event` cost; false when its cost is not known and there are some. */
bool overhead_of_samples(const struct event *event, const struct slice_event *counted, uint64_t *cost_ns);

#endif
