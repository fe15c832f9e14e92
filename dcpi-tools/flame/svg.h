/*
 * svg.h - a flame graph as one SVG file: a picture without a script, and with its own one it zooms and searches
 *
 * No style sheet and no style attribute: a page whose policy forbids inline styles can contain the picture.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_FLAME_SVG_H
#define DCPI_TOOLS_FLAME_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "dcpi-tools/flame/flame_graph.h"

struct flame_svg {
	const struct flame_graph *graph;
	const char *title; /* not escaped, like all texts */
	const char *event;
	const char *filter; /* what of the samples it is of: "comm gzip"; "" for all */
	double alpha;       /* of two sets: a chance above it is no difference */
	bool has_script;
};

/* The same picture has the same bytes. 0 or -ENOMEM; errors of the stream are the caller's to see. */
int flame_svg_print(const struct flame_svg *svg, FILE *stream);

#endif
