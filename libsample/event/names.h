/*
 * names.h - the events that have names of their own, whatever the machine
 *
 * Names and aliases are perf's; they are looked up without regard to case. Private to the room.
 * Thread rule: stateless.
 */
#ifndef DCPI_EVENT_NAMES_H
#define DCPI_EVENT_NAMES_H

#include "event/event.h"
#include "event/suggestion.h"

/* Find `name`: true with its encoding and, in `canonical`, the one of its names that everybody uses. */
bool event_name_find(const char *name, struct event_encoding *encoding, char canonical[EVENT_NAME_SIZE]);

/* The name of what is encoded so; false when it has none. */
bool event_name_of_encoding(uint32_t type, uint64_t config, char name[EVENT_NAME_SIZE]);

/* Offer every name to `suggestion`. */
void event_names_suggest(struct suggestion *suggestion);

/* The other name of `name`, NULL when it has none. */
const char *event_name_alias(const char *name);

void event_encoding_set_unit(struct event_encoding *encoding, const char *unit);

#endif
