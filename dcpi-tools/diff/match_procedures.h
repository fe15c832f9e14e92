/*
 * match_procedures.h - which procedures of two sides match
 *
 * In images of one build procedures match by where they begin. Where there are several builds they match by name, and
 * what compilers split off a procedure (name.isra.0, name.part.1, name.cold) is a part of it. Procedures without a name
 * match within one build only.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_PAIR_H
#define DCPI_TOOLS_DIFF_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"

struct match_row {
	unsigned side;   /* 0 or 1 */
	uint32_t index;  /* the caller's */
	uint32_t group;  /* of images: match_images.h */
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

#endif
