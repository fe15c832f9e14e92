/*
 * sample_points.h - the sampled offsets of a selection, one by one, each with the procedure that it lies in
 *
 * Of a selection with stacks, the points are the frames of its stacks: all offsets that are in one, each once. They
 * have no samples; selection->counts says how often each stack was sampled.
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
	size_t first;       /* of selection->counts; one for each event that has samples here; of stacks: none */
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
	const bool *wanted;                      /* by image, of stacks the innermost frame's; NULL: all */
	const struct shown_events *shown_events; /* offsets with samples of these; NULL: of any event */
	struct symbolizer *symbolizer;           /* NULL: no procedures, and point->procedure means nothing */
	bool demangle;
};

/* Whether these counts of a selection with stacks are of a stack and an event that are wanted. */
bool sample_points_has_stack(const struct sample_points_request *request, const struct selection_count *count);

/* 0, -ENOMEM, or an error of the symbolizer; then there is nothing to finish. */
int sample_points_make(const struct sample_points_request *request, struct sample_points *points);
void sample_points_fini(struct sample_points *points); /* a zeroed one is allowed */

/* Of a selection with stacks: the point that is the frame of `node`; NULL: the stack was truncated there. */
const struct sampled_offset *sample_points_frame(const struct sample_points *points, uint32_t node);

/* Samples of `event`, an index of the selection, at this point: weighted, and as they were taken. */
uint64_t sample_points_samples(const struct sample_points *points, const struct sampled_offset *point, uint16_t event);
uint64_t sample_points_taken(const struct sample_points *points, const struct sampled_offset *point, uint16_t event);

#endif
