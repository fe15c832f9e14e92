/*
 * pair.h - which procedures of two sides are one
 *
 * In two images of one build a procedure is where it begins. Where there are several builds it is what it is called:
 * those that have one name are one, and what compilers make of a procedure (name.isra.0, name.part.1, name.cold) is a
 * part of it. What has no name is the same in the same build only.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_PAIR_H
#define DCPI_TOOLS_DIFF_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"

struct pair_row {
	unsigned side;   /* 0 or 1 */
	uint32_t index;  /* the caller's */
	uint32_t group;  /* of images: meet.h */
	bool same_build; /* the group is one build */
	enum procedure_kind kind;
	uint64_t offset;
	const char *title; /* NULL: the image */
	const char *build; /* of its image, as digits; "": none */
};

/*
 * Sort the rows such that those of one procedure follow one another; those of side 0 first. 0 with *starts: where each
 * procedure begins in `rows`, and at the end `count` (the caller frees it), and *pair_count; or -ENOMEM.
 */
int rows_pair(struct pair_row *rows, size_t count, size_t **starts, size_t *pair_count);

/* How much of the name of a procedure is its own; what is left is what the compiler added. */
size_t procedure_own_name(const char *name);

#endif
