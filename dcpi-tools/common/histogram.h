/*
 * histogram.h - samples added up by procedure or by image
 *
 * JIT code of processes of one name is one image, and procedures of one name in it are one row: eight workers that
 * compile one script have it at eight addresses.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_HISTOGRAM_H
#define DCPI_TOOLS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

struct histogram_row {
	uint64_t *counts;           /* samples by event, as selection->events */
	uint64_t *taken;            /* as counts, not weighted */
	double *squares;            /* as counts: as struct selection_count has them */
	struct procedure procedure; /* zeroed by image; its name is gone, see title */
	char *title;                /* of the procedure, not escaped; NULL by image */
	const char *image_title;    /* borrowed from the request */
	uint32_t image;             /* index into selection->images */
};

struct histogram {
	size_t row_count;
	struct histogram_row *rows;
	size_t event_count;
	uint64_t totals[SELECTION_EVENTS_MAX]; /* of all rows, by event */
};

struct histogram_request {
	const struct selection *selection;
	const bool *wanted;            /* by image; NULL: all */
	char **image_titles;           /* by image (image_name.h) */
	struct symbolizer *symbolizer; /* NULL: by image */
	bool demangle;
};

/* 0, -ENOMEM, or an error of the symbolizer. Rows that have samples, in no order. */
int histogram_make(const struct histogram_request *request, struct histogram *histogram);
void histogram_fini(struct histogram *histogram); /* a zeroed one is allowed */

/* By samples of the first column, descending, then of the others, then by name: a total order, so reproducible. */
void histogram_sort(struct histogram *histogram, const struct columns *columns);

/*
 * How many of the sorted rows to show: those with samples in a column, at most `limit` (0: any number), and no more
 * than `keep_percent` of `total` samples of the first column needs.
 */
size_t histogram_cut(const struct histogram *histogram, const struct columns *columns, uint64_t total,
                     double keep_percent, size_t limit);

#endif
