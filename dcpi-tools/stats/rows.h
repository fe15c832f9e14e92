/*
 * rows.h - the counts of procedures, images or instructions, side by side for many sets
 *
 * How rows of two sets match: images by build-id or by path, so that they match in another database, and after they
 * were renamed or rebuilt; procedures by name in the image, and in order of offsets if several have one name;
 * instructions by offset in one build. Thread rule: one thread per rows.
 */
#ifndef DCPI_TOOLS_STATS_ROWS_H
#define DCPI_TOOLS_STATS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

enum stats_row_kind {
	ROW_PROCEDURE,
	ROW_IMAGE,
	ROW_INSTRUCTION,
};

struct stats_row {
	char *key;        /* private */
	char *title;      /* of the procedure or instruction, not escaped; NULL by image */
	char *path;       /* of the image, where it was seen first; not escaped */
	char *build_id;   /* as digits, of that image; "" when it has none */
	uint64_t *counts; /* by set: weighted, where the event's samples are */
	uint64_t *taken;  /* by set: how many samples these are */
	double *squares;  /* by set: sum of the squares of their weights */
};

struct stats_rows;

/* For at most `set_count` sets. NULL when memory ends. */
struct stats_rows *rows_new(enum stats_row_kind kind, size_t set_count, bool demangle);
void rows_free(struct stats_rows *rows); /* NULL is allowed */

/* Which rows of a set are added. */
struct stats_addition {
	size_t set;
	const struct selection *selection;
	uint16_t event;                /* of the selection */
	const bool *wanted;            /* by image; NULL: all */
	struct symbolizer *symbolizer; /* of the set's database */
};

/* Samples, as in struct selection_count. */
struct stats_total {
	uint64_t count, taken;
	double squares;
};

/* 0, -ENOMEM, or an error of the symbolizer. *total is what was added. */
int rows_add(struct stats_rows *rows, const struct stats_addition *addition, struct stats_total *total);

size_t rows_count(const struct stats_rows *rows);
const struct stats_row *rows_get(const struct stats_rows *rows, size_t index);

#endif
