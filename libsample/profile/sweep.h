/*
 * sweep.h - which images and contexts counts refer to, found a few at a time (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SWEEP_H
#define DCPI_PROFILE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/counts.h"
#include "profile/numbers.h"

struct sweep_marks {
	uint8_t *bits; /* by the database's number */
	uint32_t end;  /* the highest number when marking began: it and what came later are kept */
};

enum sweep_phase {
	SWEEP_MARK,
	SWEEP_IMAGES,
	SWEEP_CONTEXTS,
};

struct sweep {
	bool active;
	uint32_t epochs; /* the number that the next one had: it tells who wrote beside us */
	bool done;       /* nothing was dropped since the last one began */
	enum sweep_phase phase;
	struct counts_key at; /* where marking goes on */
	uint32_t next;        /* where removing goes on */
	struct sweep_marks images;
	struct sweep_marks contexts;
};

void sweep_fini(struct sweep *sweep);
/* What the session had numbers for stays, for now: a count of it may have come after marking was past its place. */
void sweep_end_session(struct sweep *sweep, const struct numbers *images, const struct numbers *contexts);
void sweep_mark(struct sweep_marks *marks, uint32_t number);

#endif
