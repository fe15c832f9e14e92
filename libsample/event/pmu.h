/*
 * pmu.h - events as the kernel describes them below <sysfs>/bus/event_source/devices
 *
 * `pmu/field=value,field,event/`: PMU/format/FIELD says which bits of config, config1 or config2 a field is,
 * PMU/events/EVENT is a ready-made list of fields. Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_PMU_H
#define DCPI_EVENT_PMU_H

#include "event/event.h"

/* As event_encode(), for a name with slashes and without modifiers. */
int pmu_event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size);

/*
 * Read a format: "config:0-7,32-35", "config1:3". 0 with the number behind `config` and the bits of the field, or
 * -EINVAL.
 */
int pmu_format_parse(const char *text, unsigned *config, uint64_t *bits);

#endif
