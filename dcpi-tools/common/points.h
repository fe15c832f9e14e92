/*
 * points.h - the sampled offsets of a selection, one by one, each with the procedure that it lies in
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_POINTS_H
#define DCPI_TOOLS_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

/* As a row of histogram.h: what has no symbol is one procedure for its image. */
struct point_procedure {
	struct procedure procedure; /* its name is gone, see below */
	char *title;                /* not escaped */
	char *name;                 /* as linked; NULL: it has none */
	uint32_t image;             /* index into selection->images */
};

struct point {
	uint64_t offset;
	uint32_t image;     /* index into selection->images */
	uint32_t procedure; /* index into points->procedures */
	size_t first;       /* of selection->counts; one for each event that has samples here */
	size_t event_count;
};

struct points {
	const struct selection *selection;
	struct point_procedure *procedures; /* each once, in the order in which their samples begin */
	size_t procedure_count;
	struct point *points; /* by image and offset */
	size_t count;
};

struct points_request {
	const struct selection *selection; /* must outlive the points */
	const bool *wanted;                /* by image; NULL: all */
	const struct columns *columns;     /* offsets with samples of these; NULL: of any event */
	struct symbolizer *symbolizer;     /* NULL: no procedures, and point->procedure means nothing */
	bool demangle;
};

/* 0, -ENOMEM, or an error of the symbolizer; then there is nothing to finish. */
int points_make(const struct points_request *request, struct points *points);
void points_fini(struct points *points); /* a zeroed one is allowed */

/* Samples of `event`, an index of the selection, at this point: weighted, and as they were taken. */
uint64_t point_samples(const struct points *points, const struct point *point, uint16_t event);
uint64_t point_taken(const struct points *points, const struct point *point, uint16_t event);

#endif
