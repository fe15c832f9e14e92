/*
 * rows.h - the counts of procedures, images or instructions, side by side for many sets
 *
 * What is the same in two sets: an image by its build-id or else its path, so that it is found again in another
 * database and after it was renamed or rebuilt; a procedure by its name in the image (the second of two with one name
 * by being the second); an instruction by its offset in the same build. Thread rule: one thread per rows.
 */
#ifndef DCPI_TOOLS_STATS_ROWS_H
#define DCPI_TOOLS_STATS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

enum row_kind {
	ROW_PROCEDURE,
	ROW_IMAGE,
	ROW_INSTRUCTION,
};

struct row {
	char *key;        /* private */
	char *title;      /* of the procedure or instruction, not escaped; NULL by image */
	char *path;       /* of the image, where it was seen first; not escaped */
	char *build_id;   /* as digits, of that image; "" when it has none */
	uint64_t *counts; /* by set: weighted, where the event's samples are */
	uint64_t *taken;  /* by set: how many samples these are */
	double *squares;  /* by set: sum of the squares of their weights */
};

struct rows;

/* For at most `set_count` sets. NULL when memory ends. */
struct rows *rows_new(enum row_kind kind, size_t set_count, bool demangle);
void rows_free(struct rows *rows); /* NULL is allowed */

/* What of a set is added. */
struct rows_addition {
	size_t set;
	const struct selection *selection;
	uint16_t event;                /* of the selection */
	const bool *wanted;            /* by image; NULL: all */
	struct symbolizer *symbolizer; /* of the set's database */
};

/* Samples, as struct selection_count has them. */
struct rows_total {
	uint64_t count, taken;
	double squares;
};

/* 0, -ENOMEM, or an error of the symbolizer. *total is what was added. */
int rows_add(struct rows *rows, const struct rows_addition *addition, struct rows_total *total);

size_t rows_count(const struct rows *rows);
const struct row *rows_get(const struct rows *rows, size_t index);

#endif
