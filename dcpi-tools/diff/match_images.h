/*
 * match_images.h - which images of two sides match: one build, or two builds of one program
 *
 * Matching images form groups; a group may have any number of images of either side. Images of one build are in one
 * group, and so are images with one path. A group that is on one side only is then joined with such groups of the other
 * side by the first of these traits that matches: soname; file name; file name without its version (libfoo-1.2.so,
 * libfoo-1.3.so); the source that the first unit was compiled from, with the directory; the names of procedures, if
 * common names have at least half of the samples on both sides.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_MEET_H
#define DCPI_TOOLS_DIFF_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"

/* One build, at any path: one build-id, or one file where there is no build-id. */
bool match_is_one_build(const struct image *one, const struct image *other);

struct match_procedure {
	const char *name;
	uint64_t samples;
};

struct match_image {
	const struct image *image;
	uint32_t index;                           /* the caller's */
	const struct match_procedure *procedures; /* those that have names; each once, ascending by name */
	size_t procedure_count;

	uint32_t group;  /* made here: counts from 0 */
	const char *why; /* "soname", ...: the trait that matched; NULL: build or path, or it has no match */
	char *soname;    /* made here, as is the next; NULL: none, or not needed */
	char *source;
};

struct match_input {
	struct match_image *images;
	size_t count;
};

/* What is read from a file. */
enum match_question {
	MATCH_SONAME,
	MATCH_SOURCE, /* takes long: line numbers are looked for */
};

/* Read it: a new string, or NULL where the file has none or cannot be read. */
typedef char *match_origin(void *context, const struct image *image, enum match_question question);

/* How many groups there are, or -ENOMEM. `origin` is called for images that have no match until then; NULL: no file is
 * read. */
int match_images(struct match_input sides[2], match_origin *origin, void *context);
void match_input_fini(struct match_input *side); /* frees images, sonames and sources */

/* Whether a group has one image on each side, and both are one build. Never of code made at run time. */
bool match_is_same_build(const struct match_input sides[2], uint32_t group);

#endif
