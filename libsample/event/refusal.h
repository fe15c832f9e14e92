/*
 * refusal.h - why the kernel refused an event, in a sentence that says what to change
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_REFUSAL_H
#define DCPI_EVENT_REFUSAL_H

#include "event/event.h"

/*
 * Whether `err` means a shortage of this process, not a refusal of the event: no descriptors, no memory, no system
 * call.
 */
bool refusal_is_shortage(int err);

/* Whether `err` means that this process lacks a permission. */
bool refusal_is_permission(int err);

/* Try to open `attr`, and close what was opened. 0 or a negative errno. */
int refusal_probe(const struct event_environment *environment, struct perf_event_attr *attr);

/*
 * Say why the kernel refuses every event for all processes with `err`: a shortage, a permission, or a CPU that does not
 * exist (-ENODEV).
 */
void refusal_explain(const struct event_environment *environment, int err, char *why, size_t size);

/* Say, as the beginning of a sentence, why the kernel refuses this `event` with `err` but not other events. */
void refusal_describe(const struct event_environment *environment, const struct event *event, int err, char *text,
                      size_t size);

#endif
