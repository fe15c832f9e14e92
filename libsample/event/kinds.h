/*
 * kinds.h - machines with several kinds of core, each with a PMU of its own
 *
 * The kernel shows the CPUs of a core's PMU in PMU/cpus; a PMU of the whole chip has PMU/cpumask. What an event of one
 * kind of core counts is PERF_TYPE_HARDWARE's, with the PMU's type in the upper half of config (linux 5.13).
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_KINDS_H
#define DCPI_EVENT_KINDS_H

#include "event/event.h"

#define KIND_OF_CORE(type) ((uint64_t)(type) << 32)

/* Does the kernel show `pmu` as that of one kind of core? */
bool kind_is_core(const char *sysfs, const char *pmu);

/* An event that has a name of its own, and is counted by a core. */
bool kind_is_generic(const struct event_encoding *encoding);

/* The CPU to ask on for the event called `name`: `cpu`, or one that is online and that its PMU has. */
int kind_cpu(const char *sysfs, const char *name, int cpu);

#endif
