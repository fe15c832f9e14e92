/*
 * meet.h - which images of two sides are one: the same build, or another build of the same thing
 *
 * Images form groups, of one side or both, of any number of either. Those with one identity are in one group, and so
 * are those with one path. An image whose group is of one side only then meets those of the other side that are alone
 * as well, by the first of these that any has: soname; file name; file name without its version (libfoo-1.2.so,
 * libfoo-1.3.so); the source that its first unit was compiled from, with the directory; the names of its procedures, if
 * what they have in common is at least half of the samples on both sides.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_MEET_H
#define DCPI_TOOLS_DIFF_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

/* One build, wherever it lies: one build-id, or without any, one file. */
bool images_are_one_build(const struct image *one, const struct image *other);

struct meet_procedure {
	const char *name;
	uint64_t samples;
};

struct meet_image {
	const struct image *image;
	uint32_t index;                          /* the caller's */
	const struct meet_procedure *procedures; /* those that have names; each once, ascending by name */
	size_t procedure_count;

	uint32_t group;  /* made here: counts from 0 */
	const char *why; /* "soname", ...: what brought it to the other side; NULL: identity or path, or nothing */
	char *soname;    /* made here, as is the next; NULL: none, or not needed */
	char *source;
};

struct meet_side {
	struct meet_image *images;
	size_t count;
};

/* What a file may be asked. */
enum meet_question {
	MEET_SONAME,
	MEET_SOURCE, /* takes long: line numbers are looked for */
};

/* What a file says of itself: a new string, or NULL where it says nothing. */
typedef char *meet_origin(void *context, const struct image *image, enum meet_question question);

/* How many groups there are, or -ENOMEM. `origin` is asked of images that are alone till then; NULL: none is. */
int images_meet(struct meet_side sides[2], meet_origin *origin, void *context);
void meet_side_fini(struct meet_side *side); /* frees images, sonames and sources */

/* Whether a group has but one image on each side, and both are the same build. Code made at run time never is. */
bool meet_is_same_build(const struct meet_side sides[2], uint32_t group);

#endif
