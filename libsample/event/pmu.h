/*
 * pmu.h - events and PMUs as the kernel describes them below <sysfs>/bus/event_source/devices
 *
 * In `pmu/field=value,field,event/`, PMU/format/FIELD has the bits of config, config1 or config2 that a field sets, and
 * PMU/events/EVENT is a ready-made list of fields. A machine may have several kinds of core, each with a PMU, whose
 * CPUs are in PMU/cpus; a PMU of the whole chip has PMU/cpumask. A generic event of one kind of core is encoded as one
 * of PERF_TYPE_HARDWARE, with the PMU's type in the upper half of config (linux 5.13).
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_PMU_H
#define DCPI_EVENT_PMU_H

#include <limits.h>

#include "event/event.h"

#define PMU_CORES_MAX 8

/* Bits of config that select the kind of core on which a generic event is counted. */
#define KIND_OF_CORE(type) ((uint64_t)(type) << 32)

/* The PMU of one kind of core. */
struct pmu_core {
	char pmu[NAME_MAX + 1];
	int64_t type;
};

/* List the kinds of core that are online, in the order of their types. Returns how many. */
size_t pmu_cores(const char *sysfs, struct pmu_core cores[PMU_CORES_MAX]);

/* Whether the event has a generic name, and a core counts it. */
bool event_is_generic(const struct event_encoding *encoding);

/* The CPU on which to try the event called `name`: `cpu`, or one of the event's PMU that is online. */
int event_cpu(const char *sysfs, const char *name, int cpu);

/* event_encode() for a name with slashes and without modifiers. */
int pmu_event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size);

/*
 * Whether precise_ip has an effect here. A PMU that shows its levels (caps/max_precise, all of x86 since linux 4.14)
 * refuses a level it lacks. Others, such as arm64's, accept any level and ignore it. So the result is false when there
 * are PMUs and none shows its levels. It is true without PMUs or without sysfs, because then nothing is known.
 */
bool pmu_knows_precise(const char *sysfs);

/*
 * 16 when AMD's IBS counts `event`, because its periods are multiples of 16; 0: any period. If there is an IBS, the
 * kernel counts every event with a precise_ip by it. Since linux 6.15 the kernel refuses other periods; before, it
 * truncated them silently.
 */
uint32_t pmu_period_step(const char *sysfs, const struct event *event);

/*
 * Parse a format: "config:0-7,32-35", "config1:3". 0 with *config set to the number behind `config` (0 if none) and
 * *bits to the bits of the field, or -EINVAL.
 */
int pmu_format_parse(const char *text, unsigned *config, uint64_t *bits);

#endif
