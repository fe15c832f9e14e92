/*
 * gc.h - garbage collection of images and contexts that no count refers to, in steps (private to profile/)
 *
 * A mark phase walks the keys of all counts, a removal phase the tables of images and contexts:
 * profile_collect_garbage() (retention.h).
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_GC_H
#define DCPI_PROFILE_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/counts.h"
#include "profile/ids.h"

struct gc_marks {
	uint8_t *bits; /* by the database's number */
	uint32_t end;  /* the highest number when marking began: it and later ones are kept */
};

enum gc_phase {
	GC_MARK,
	GC_IMAGES,
	GC_CONTEXTS,
};

struct gc {
	bool active;
	uint32_t epochs; /* the next epoch's id when marking began: another id means that another writer began an epoch
	                  */
	bool done;       /* nothing was dropped since the last collection began */
	enum gc_phase phase;
	struct counts_key at; /* where marking continues */
	uint32_t next;        /* where removing continues */
	struct gc_marks images;
	struct gc_marks contexts;
};

void gc_fini(struct gc *gc); /* it can be used again, from the beginning */

/* Mark everything that the session has numbers for: a count of it may have come after marking had passed its key. */
void gc_end_session(struct gc *gc, const struct ids_map *images, const struct ids_map *contexts);
void gc_mark(struct gc_marks *marks, uint32_t number);

#endif
