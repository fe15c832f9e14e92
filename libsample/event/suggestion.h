/*
 * suggestion.h - what was probably meant by a word, where candidates come one by one
 *
 * base/suggest.h decides what is near. Private to the room. Thread rule: one thread per suggestion.
 */
#ifndef DCPI_EVENT_SUGGESTION_H
#define DCPI_EVENT_SUGGESTION_H

#include "event/event.h"

struct suggestion {
	const char *word;
	char best[EVENT_NAME_SIZE]; /* so far; empty: nothing near */
};

/* `word` must outlive the suggestion. */
void suggestion_init(struct suggestion *suggestion, const char *word);
void suggestion_consider(struct suggestion *suggestion, const char *candidate);

/* The nearest candidate, the first of equals; NULL when none is near. Valid as long as the suggestion. */
const char *suggestion_get(const struct suggestion *suggestion);

#endif
