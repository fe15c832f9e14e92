/*
 * modifiers.h - the letters behind an event's name: `cycles:u`, `instructions:ppk`, `cpu/event=0x3c/u`
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_MODIFIERS_H
#define DCPI_EVENT_MODIFIERS_H

#include "event/event.h"

struct event_modifiers {
	bool user, kernel; /* neither: the name says nothing about modes */
	bool no_idle;      /* I */
	bool has_precise;  /* p, pp, ppp, or P for the highest */
	uint8_t precise;
};

/*
 * Cut `name` into the bare name of the event and its modifiers. 0, or -DCPI_ENOEVENT with a sentence in `why` (of
 * `size` bytes).
 */
int event_modifiers_split(const char *name, char bare[EVENT_NAME_SIZE], struct event_modifiers *modifiers, char *why,
                          size_t size);

#endif
