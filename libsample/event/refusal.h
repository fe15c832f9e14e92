/*
 * refusal.h - why the kernel said no, in words that say what to change
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_REFUSAL_H
#define DCPI_EVENT_REFUSAL_H

#include "event/event.h"

/* An answer that is about this process's means and not about the event: no descriptors, no memory, no system call. */
bool refusal_is_shortage(int err);

/* An answer that is about this process's rights. */
bool refusal_is_permission(int err);

/* Try to open `attr`, and close what was opened. 0 or a negative errno. */
int refusal_probe(const struct event_environment *environment, struct perf_event_attr *attr);

/*
 * Say why every event of all processes is refused with `err`: a shortage, a right, or a CPU that is not there
 * (-ENODEV).
 */
void refusal_explain(const struct event_environment *environment, int err, char *why, size_t size);

/* Say, as the beginning of a sentence, why this `event` is refused with `err` though others are not. */
void refusal_describe(const struct event_environment *environment, const struct event *event, int err, char *text,
                      size_t size);

#endif
