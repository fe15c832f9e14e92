/*
 * pmu.h - events and PMUs as the kernel describes them below <sysfs>/bus/event_source/devices
 *
 * `pmu/field=value,field,event/`: PMU/format/FIELD says which bits of config, config1 or config2 a field is,
 * PMU/events/EVENT is a ready-made list of fields. A machine may have several kinds of core, each with a PMU: its CPUs
 * are in PMU/cpus; a PMU of the whole chip has PMU/cpumask. What an event of one kind of core counts is
 * PERF_TYPE_HARDWARE's, with the PMU's type in the upper half of config (linux 5.13).
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_PMU_H
#define DCPI_EVENT_PMU_H

#include <limits.h>

#include "event/event.h"

#define PMU_CORES_MAX 8

/* Bits of config that say which kind of core counts a generic event. */
#define KIND_OF_CORE(type) ((uint64_t)(type) << 32)

/* The PMU of one kind of core. */
struct pmu_core {
	char pmu[NAME_MAX + 1];
	int64_t type;
};

/* The kinds of core that are online, in the order of their types: how many. */
size_t pmu_cores(const char *sysfs, struct pmu_core cores[PMU_CORES_MAX]);

/* An event that has a name of its own, and is counted by a core. */
bool event_is_generic(const struct event_encoding *encoding);

/* The CPU to ask on for the event called `name`: `cpu`, or one that is online and that its PMU has. */
int event_cpu(const char *sysfs, const char *name, int cpu);

/* As event_encode(), for a name with slashes and without modifiers. */
int pmu_event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size);

/*
 * Does precise_ip mean anything here? A PMU that shows its levels (caps/max_precise, all of x86 since linux 4.14)
 * refuses a level it lacks. Others, such as arm64's, accept any level and ignore it: false when there are PMUs and none
 * shows its levels. True without PMUs or without sysfs, where nothing is known.
 */
bool pmu_knows_precise(const char *sysfs);

/*
 * 16 when AMD's IBS counts `event`, which it does in steps of 16; 0: any period. Where IBS exists, the kernel hands
 * every event with a precise_ip to it; since linux 6.15 it refuses other periods, before that it truncated them
 * silently.
 */
uint32_t pmu_period_step(const char *sysfs, const struct event *event);

/*
 * Read a format: "config:0-7,32-35", "config1:3". 0 with the number behind `config` and the bits of the field, or
 * -EINVAL.
 */
int pmu_format_parse(const char *text, unsigned *config, uint64_t *bits);

#endif
