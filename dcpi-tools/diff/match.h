/*
 * match.h - match images, procedures, and lines or instructions of a procedure between two sides
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_MATCH_H
#define DCPI_TOOLS_DIFF_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"
#include "process/image_table.h"

/*
 * ---- Images: one build, or two builds of one program ----
 *
 * Matching images form groups; a group may have any number of images of either side. Images of one build are in one
 * group, and so are images with one path. A group that is on one side only is then joined with such groups of the other
 * side by the first of these traits that matches: soname; file name; file name without its version (libfoo-1.2.so,
 * libfoo-1.3.so); the source that the first unit was compiled from, with the directory; the names of procedures, if
 * common names have at least half of the samples on both sides.
 */

/* Whether both are one build, at any path: one build-id, or without build-ids one file. */
bool match_is_one_build(const struct image *one, const struct image *other);

struct match_procedure {
	const char *name;
	uint64_t samples;
};

struct match_image {
	const struct image *image;
	uint32_t index;                           /* the caller's */
	const struct match_procedure *procedures; /* those with names; each once, ascending by name */
	size_t procedure_count;

	uint32_t group;  /* made here: counts from 0 */
	const char *why; /* "soname", ...: the trait that matched; NULL: build or path, or it has no match */
	char *soname;    /* made here, like `source`; NULL: none, or not needed */
	char *source;
};

struct match_input {
	struct match_image *images;
	size_t count;
};

/* What to read from a file. */
enum match_question {
	MATCH_SONAME,
	MATCH_SOURCE, /* slow: it searches line numbers */
};

/* Read one of these: a new string, or NULL if the file has none or cannot be read. */
typedef char *match_origin(void *context, const struct image *image, enum match_question question);

/*
 * Make the groups. Returns how many there are, or -ENOMEM. `origin` is called for images that have no match yet; NULL:
 * no file is read.
 */
int match_images(struct match_input sides[2], match_origin *origin, void *context);
void match_input_fini(struct match_input *side); /* frees images, sonames and sources */

/* Whether a group has one image on each side, and both are one build. Always false for run-time code. */
bool match_is_same_build(const struct match_input sides[2], uint32_t group);

/*
 * ---- Procedures ----
 *
 * In images of one build, procedures match by the offset at which they begin. With several builds they match by name,
 * and parts that compilers split off a procedure (name.isra.0, name.part.1, name.cold) belong to it. Procedures without
 * a name match within one build only.
 */

struct match_row {
	unsigned side;   /* 0 or 1 */
	uint32_t index;  /* the caller's */
	uint32_t group;  /* of images */
	bool same_build; /* the group is one build */
	enum procedure_kind kind;
	uint64_t offset;
	const char *title; /* NULL: the image */
	const char *build; /* of its image, as digits; "": none */
};

/*
 * Sort the rows such that those of one procedure follow one another; those of side 0 first. 0 with *starts: where each
 * procedure begins in `rows`, and at the end `count` (the caller frees it), and *match_count; or -ENOMEM.
 */
int match_procedures(struct match_row *rows, size_t count, size_t **starts, size_t *match_count);

/* The length of a procedure's name without the suffixes that compilers add. */
size_t match_procedure_name_length(const char *name);

/* ---- Lines and instructions: a longest common subsequence ---- */

#define MATCH_NONE UINT32_MAX

/* At most so many cells are compared; longer stretches in which two sequences differ have no partners. */
#define MATCH_CELLS_MAX ((size_t)1 << 24)

/*
 * A longest common subsequence of one[0 .. count) and other[0 .. other_count), elements compared by their numbers
 * (match_text_hash()): partners[i] is the element of `other` that one[i] is, or MATCH_NONE. 0 or -ENOMEM.
 */
int match_sequences(const uint64_t *one, size_t count, const uint64_t *other, size_t other_count, uint32_t *partners);

/* A hash of a text (FNV-1a). Blanks at both ends are left out, and blanks in a row are one. */
uint64_t match_text_hash(const char *text);

/* As match_text_hash(), but all numbers that begin with 0x are alike: instructions match though addresses moved. */
uint64_t match_instruction_hash(const char *text);

#endif
