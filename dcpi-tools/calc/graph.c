/*
 * The flow graph in the language of graphviz. The area of a block is the time spent there, the width of an edge how
 * often it was taken; text is as large as fits into its block.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/text.h"

#define WHOLE_INCHES    6.0  /* the side of a square that all the time would fill */
#define LEAST_INCHES    0.12 /* of a block without any */
#define SHAPE           2.2  /* width to height */
#define LABEL_COLUMNS   22
#define LABEL_LINES     3
#define POINTS          72.0 /* an inch has */
#define COLUMN_PART     0.62 /* width of a letter to its height */
#define LINE_PART       1.25 /* height of a line */
#define LEAST_POINTS    3.0  /* smaller text is left out */
#define MOST_POINTS     28.0
#define WIDEST_POINTS   9.0 /* of an edge */
#define THINNEST_POINTS 0.3

static double
most_frequent_edge(const struct procedure_analysis *analysis)
{
	double most = 0;

	for (size_t i = 0; i < analysis->graph->edge_count; i++)
		most = fmax(most, analysis->frequencies.edges[i].value);
	return most;
}

static double
most_frequent_block(const struct procedure_analysis *analysis)
{
	double most = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		most = fmax(most, analysis->frequencies.blocks[i].value);
	return most;
}

/* Blocks that run often stay as well: without them the way from one to another would be cut. */
static bool
is_drawn(const struct report *report, uint32_t block, double most)
{
	const double part = report->request->cutoff_percent;

	return block_percent(report, block) >= part ||
	       100 * report->analysis->frequencies.blocks[block].value >= part * most;
}

/* The largest size at which the label fits. */
static double
text_points(double width, double height)
{
	return fmin(MOST_POINTS,
	            fmin(width * POINTS / (LABEL_COLUMNS * COLUMN_PART), height * POINTS / (LABEL_LINES * LINE_PART)));
}

static void
print_node(const struct report *report, uint32_t index, FILE *stream)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const uint64_t address = analysis->graph->instructions[block->first].address;
	const double percent = block_percent(report, index), cycles = procedure_block_cycles(analysis, index);
	const double side = fmax(LEAST_INCHES, WHOLE_INCHES * sqrt(percent / 100));
	const double width = side * sqrt(SHAPE), height = side / sqrt(SHAPE), points = text_points(width, height);
	char cpi[64] = "CPI not known";

	if (cycles >= 0)
		snprintf(cpi, sizeof(cpi), "%.2f CPI, best %.2f", cycles / block->count,
		         analysis->schedules[index].best_cycles / block->count);
	fprintf(stream, "\tb%" PRIu32 " [width=%.3f, height=%.3f, fontsize=%.1f, style=\"filled%s\", label=\"", index,
	        width, height, fmax(points, LEAST_POINTS), block->is_cold ? ",dashed" : "");
	if (points >= LEAST_POINTS)
		fprintf(stream, "%" PRIx64 "\\n%.1f%%\\n%s", address, percent, cpi);
	fprintf(stream, "\", tooltip=\"%" PRIx64 ": %" PRIu32 " instructions, %.1f%% of the time, %s\"];\n", address,
	        block->count, percent, cpi);
}

static void
print_end(uint32_t block, const char *outside, FILE *stream)
{
	if (block == FLOW_OUTSIDE)
		fputs(outside, stream);
	else
		fprintf(stream, "b%" PRIu32, block);
}

static void
print_edge(const struct report *report, uint32_t index, double most, FILE *stream)
{
	const struct flow_edge *edge = &report->analysis->graph->edges[index];
	const double value = report->analysis->frequencies.edges[index].value;
	const double width = fmax(THINNEST_POINTS, most > 0 ? WIDEST_POINTS * value / most : 0);

	fputc('\t', stream);
	print_end(edge->from, "entry", stream);
	fputs(" -> ", stream);
	print_end(edge->to, "exit", stream);
	fprintf(stream, " [penwidth=%.2f, arrowsize=%.2f, style=%s, tooltip=\"%.3g\"];\n", width, 0.4 + width / 8,
	        value > 0 ? "solid" : "dotted", value);
}

/* In a text between double quotes, these two would not be themselves. */
static void
print_quoted(const char *text, FILE *stream)
{
	char *shown = text_shown(text);

	for (const char *at = shown ? shown : "?"; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', stream);
		fputc(*at, stream);
	}
	free(shown);
}

static void
print_title(const struct report *report, size_t left_out, FILE *stream)
{
	fputs("digraph procedure {\n\tgraph [bgcolor=white, labelloc=t, fontname=\"Helvetica\", fontsize=14, label=\"",
	      stream);
	print_quoted(report->choice.title, stream);
	fputs(" in ", stream);
	print_quoted(report->choice.titles[report->choice.found.code.index], stream);
	fputs("\\narea: time spent; width of an edge: how often", stream);
	if (left_out)
		fprintf(stream, "\\n%zu block%s with less than %g%% not drawn", left_out, left_out > 1 ? "s" : "",
		        report->request->cutoff_percent);
	fputs("\"];\n"
	      "\tnode [shape=box, fixedsize=true, fontname=\"Courier\", fillcolor=\"#ffe9c9\", penwidth=0.6];\n"
	      "\tedge [color=\"#33557799\"];\n"
	      "\tentry [shape=circle, width=0.15, label=\"\", fillcolor=black, style=filled, tooltip=\"callers\"];\n"
	      "\texit [shape=doublecircle, width=0.12, label=\"\", fillcolor=black, style=filled, tooltip=\"back\"];\n",
	      stream);
}

static bool
edge_is_drawn(const struct report *report, const struct flow_edge *edge, double most)
{
	return (edge->from == FLOW_OUTSIDE || is_drawn(report, edge->from, most)) &&
	       (edge->to == FLOW_OUTSIDE || is_drawn(report, edge->to, most));
}

size_t
graph_drawn_blocks(const struct report *report)
{
	const double most = most_frequent_block(report->analysis);
	size_t drawn = 0;

	for (uint32_t i = 0; i < report->analysis->graph->block_count; i++)
		drawn += is_drawn(report, i, most);
	return drawn;
}

void
graph_print(const struct report *report, FILE *stream)
{
	const struct flow_graph *graph = report->analysis->graph;
	const double most = most_frequent_block(report->analysis), edge_most = most_frequent_edge(report->analysis);

	print_title(report, graph->block_count - graph_drawn_blocks(report), stream);
	for (uint32_t i = 0; i < graph->block_count; i++)
		if (is_drawn(report, i, most))
			print_node(report, i, stream);
	for (uint32_t i = 0; i < graph->edge_count; i++)
		if (edge_is_drawn(report, &graph->edges[i], most))
			print_edge(report, i, edge_most, stream);
	fputs("}\n", stream);
}
