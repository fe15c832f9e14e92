/*
 * names.h - names of events that are valid on every machine, modifiers behind a name, and near misses
 *
 * Names and aliases are perf's; upper and lower case are equal. Private to the room.
 * Thread rule: stateless; a suggestion belongs to one thread.
 */
#ifndef DCPI_EVENT_NAMES_H
#define DCPI_EVENT_NAMES_H

#include "event/event.h"

/* The name that is nearest to a word, among candidates that come one by one; base/text.h decides what is near. */
struct event_suggestion {
	const char *word;
	char best[EVENT_NAME_SIZE]; /* so far; empty: nothing near */
};

/* `word` must outlive the suggestion. */
void event_suggestion_init(struct event_suggestion *suggestion, const char *word);
void event_suggestion_consider(struct event_suggestion *suggestion, const char *candidate);

/* The nearest candidate, the first of equals; NULL when none is near. Valid as long as the suggestion. */
const char *event_suggestion_get(const struct event_suggestion *suggestion);

/* Find `name`: true with its encoding and, in `canonical`, the more common of its names. */
bool event_name_find(const char *name, struct event_encoding *encoding, char canonical[EVENT_NAME_SIZE]);

/* Offer every name to `suggestion`. */
void event_names_suggest(struct event_suggestion *suggestion);

/* The other name of `name`, NULL when it has none. */
const char *event_name_alias(const char *name);

void event_encoding_set_unit(struct event_encoding *encoding, const char *unit);

/* The letters behind a name: `cycles:u`, `instructions:ppk`, `cpu/event=0x3c/u`. */
struct event_modifiers {
	bool user, kernel; /* neither: no modifier for modes */
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
