/*
 * histogram.h - samples added up by procedure or by image
 *
 * JIT code of all processes with one name is one image, and procedures with one name in it are one row, because eight
 * workers that compile one script have its code at eight addresses.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_HISTOGRAM_H
#define DCPI_TOOLS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

struct histogram_row {
	uint64_t *counts;           /* samples by event of the selection */
	uint64_t *taken;            /* by event: samples without weights */
	double *squares;            /* by event: sums of squared weights, as in struct selection_count */
	struct procedure procedure; /* zero for a row of an image; without its name, see `title` */
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

/* Make the rows that have samples, in no order. 0, -ENOMEM, or an error of the symbolizer. */
int histogram_make(const struct histogram_request *request, struct histogram *histogram);
void histogram_fini(struct histogram *histogram); /* a zeroed one is allowed */

/*
 * Sort by samples of the first column, descending, then of the others, then by name: a total order, so it is
 * reproducible.
 */
void histogram_sort(struct histogram *histogram, const struct shown_events *events);

/*
 * How many of the sorted rows to show: those with samples in a column, at most `limit` (0: any number), and no more
 * than `keep_percent` of `total` samples of the first column needs.
 */
size_t histogram_cut(const struct histogram *histogram, const struct shown_events *events, uint64_t total,
                     double keep_percent, size_t limit);

#endif
