/*
 * suggestion.h - what was probably meant by a word that means nothing
 *
 * Private to the room. Thread rule: one thread per suggestion.
 */
#ifndef DCPI_EVENT_SUGGESTION_H
#define DCPI_EVENT_SUGGESTION_H

#include "event/event.h"

struct suggestion {
	const char *word;
	unsigned distance; /* a candidate must be nearer than this */
	char best[EVENT_NAME_SIZE];
};

/* `word` must outlive the suggestion. */
void suggestion_init(struct suggestion *suggestion, const char *word);
void suggestion_consider(struct suggestion *suggestion, const char *candidate);

/* The nearest candidate, NULL when none is near: at most one edit in three letters. */
const char *suggestion_get(const struct suggestion *suggestion);

/* Letters to insert, delete, change or swap with their neighbour to make `a` from `b`, without regard to case. */
unsigned edit_distance(const char *a, const char *b);

#endif
