/*
 * encode.h - names of events without their modifiers
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_ENCODE_H
#define DCPI_EVENT_ENCODE_H

#include "event/event.h"
#include "event/modifiers.h"

/* As event_encode(); `canonical` becomes the one of the event's names that everybody uses. */
int event_encode_bare(const char *sysfs, const char *bare, struct event_encoding *encoding,
                      char canonical[EVENT_NAME_SIZE], char *why, size_t size);

#endif
