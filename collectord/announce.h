/*
 * announce.h - the log messages on what an epoch counts and what it cannot count
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_ANNOUNCE_H
#define DCPI_COLLECTORD_ANNOUNCE_H

#include <stddef.h>

#include "base/log.h"
#include "event/event.h"
#include "profile/epoch.h"

/* "cpu-clock: 250 samples/s per CPU; note" into `text`. */
void announce_event(const struct event *event, char *text, size_t size);

/* An event as it is configured: "cycles: a sample every 2000003 events, precise level 3 or less". */
void announce_spec(const struct event_spec *spec, char *text, size_t size);

/* Log that the epoch begins. */
void announce_epoch(const struct log *log, const char *database, const struct epoch *epoch);

/* Log each of its events, and what else limits what will be seen. */
void announce_events(const struct log *log, const struct epoch *epoch);

/* Log that what was configured is expected to cost more than the limit, when it is. */
void announce_overhead(const struct log *log, const struct epoch *epoch, uint64_t limit_ppm);

#endif
