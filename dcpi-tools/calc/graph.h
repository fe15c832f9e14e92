/*
 * graph.h - a picture of a procedure's flow graph, drawn by graphviz
 *
 * Hot blocks have their instructions with samples, cycles and the likeliest reason of a stall, cold ones a line; the
 * hotter, the redder. Text has one size, so that it can be read however large the graph is.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALC_GRAPH_H
#define DCPI_TOOLS_CALC_GRAPH_H

#include "analysis/procedure.h"
#include "code/decoder.h"

struct graph_source {
	const struct procedure_analysis *analysis;
	const struct code_image *code;
	enum listing_syntax syntax;
	double cutoff_percent;         /* blocks with less of the time, which run rarely, are left out */
	const char *procedure, *image; /* titles, not escaped */
};

/*
 * Draw into the file at `path`, whose name ends in .svg, .png, .pdf or .dot (for the input of graphviz itself); "-" is
 * SVG on standard output. STATUS_OK, or an exit status after a message.
 */
int graph_draw(const struct graph_source *source, const char *path);

#endif
