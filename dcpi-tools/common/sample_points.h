/*
 * sample_points.h - the sampled offsets of a selection, one by one, each with the procedure that it lies in
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_SAMPLE_POINTS_H
#define DCPI_TOOLS_SAMPLE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/symbolizer.h"
#include "profile/selection.h"

/* As in histogram.h, all code of an image without symbols is one procedure. */
struct sample_procedure {
	struct procedure procedure; /* without its name, see below */
	char *title;                /* not escaped */
	char *name;                 /* as linked; NULL: it has none */
	uint32_t image;             /* index into selection->images */
};

struct sampled_offset {
	uint64_t offset;
	uint32_t image;     /* index into selection->images */
	uint32_t procedure; /* index into points->procedures */
	size_t first;       /* of selection->counts; one for each event that has samples here */
	size_t event_count;
};

struct sample_points {
	const struct selection *selection;
	struct sample_procedure *procedures; /* each once, in the order in which their samples begin */
	size_t procedure_count;
	struct sampled_offset *points; /* by image and offset */
	size_t count;
};

struct sample_points_request {
	const struct selection *selection;       /* must outlive the points */
	const bool *wanted;                      /* by image; NULL: all */
	const struct shown_events *shown_events; /* offsets with samples of these; NULL: of any event */
	struct symbolizer *symbolizer;           /* NULL: no procedures, and point->procedure means nothing */
	bool demangle;
};

/* 0, -ENOMEM, or an error of the symbolizer; then there is nothing to finish. */
int sample_points_make(const struct sample_points_request *request, struct sample_points *points);
void sample_points_fini(struct sample_points *points); /* a zeroed one is allowed */

/* Samples of `event`, an index of the selection, at this point: weighted, and as they were taken. */
uint64_t sample_points_samples(const struct sample_points *points, const struct sampled_offset *point, uint16_t event);
uint64_t sample_points_taken(const struct sample_points *points, const struct sampled_offset *point, uint16_t event);

#endif
