/*
 * The flow graph in the language of graphviz. The area of a block is the time spent there, the width of an edge how
 * often it was taken; text is as large as fits into its block.
 */
#include "dcpi-tools/calc/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"

#define SLOW_BLOCKS     1000 /* from here on 'dot' takes long: 5,000 were not drawn in nine minutes */
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
most_frequent_block(const struct procedure_analysis *analysis)
{
	double most = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		most = fmax(most, analysis->frequencies.blocks[i].value);
	return most;
}

/* Blocks that run often are drawn as well, or paths through them would be interrupted. */
static bool
is_drawn(const struct calc_report *report, uint32_t block, double most)
{
	const double part = report->request->cutoff_percent;

	return calc_block_percent(report, block) >= part ||
	       100 * report->analysis->frequencies.blocks[block].value >= part * most;
}

static void
print_node(const struct calc_report *report, uint32_t index, FILE *stream)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const uint64_t address = analysis->graph->instructions[block->first].address;
	const double percent = calc_block_percent(report, index), cycles = procedure_block_cycles(analysis, index);
	const double side = fmax(LEAST_INCHES, WHOLE_INCHES * sqrt(percent / 100));
	const double width = side * sqrt(SHAPE), height = side / sqrt(SHAPE);
	/* the largest text that fits */
	const double points = fmin(MOST_POINTS, fmin(width * POINTS / (LABEL_COLUMNS * COLUMN_PART),
	                                             height * POINTS / (LABEL_LINES * LINE_PART)));
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
print_edge(const struct calc_report *report, uint32_t index, double most, FILE *stream)
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

/* Escape double quotes and backslashes, for a text between double quotes. */
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
print_title(const struct calc_report *report, size_t left_out, FILE *stream)
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

static size_t
count_drawn(const struct calc_report *report)
{
	const double most = most_frequent_block(report->analysis);
	size_t drawn = 0;

	for (uint32_t i = 0; i < report->analysis->graph->block_count; i++)
		drawn += is_drawn(report, i, most);
	return drawn;
}

/* A picture_printer; `context` is the report. */
static void
print_graph(const void *context, FILE *stream)
{
	const struct calc_report *report = context;
	const struct flow_graph *graph = report->analysis->graph;
	const double most = most_frequent_block(report->analysis);
	double edge_most = 0;

	print_title(report, graph->block_count - count_drawn(report), stream);
	for (uint32_t i = 0; i < graph->block_count; i++)
		if (is_drawn(report, i, most))
			print_node(report, i, stream);
	for (uint32_t i = 0; i < graph->edge_count; i++)
		edge_most = fmax(edge_most, report->analysis->frequencies.edges[i].value);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if ((edge->from == FLOW_OUTSIDE || is_drawn(report, edge->from, most)) &&
		    (edge->to == FLOW_OUTSIDE || is_drawn(report, edge->to, most)))
			print_edge(report, i, edge_most, stream);
	}
	fputs("}\n", stream);
}

static const struct picture_program graphviz = {
	.name = "dot",
	.package = "graphviz",
	.draw = "draw the graph",
	.write = "write the graph",
	.script_suffix = ".dot",
};

int
calc_report_draw(const struct calc_report *report)
{
	static const char *const forms[] = {"svg", "png", "pdf", "dot"};
	const size_t form_count = sizeof(forms) / sizeof(forms[0]);
	const char *path = report->request->graph;
	const size_t form = picture_form(path, forms, form_count), drawn = count_drawn(report);
	char form_option[16];
	char *arguments[] = {(char *)"dot", form_option, (char *)"-o", (char *)path, NULL};

	if (form == form_count) {
		message_print(path, "a graph can be drawn into a file that ends in .svg, .png, .pdf or .dot");
		return STATUS_USAGE;
	}
	if (strcmp(forms[form], "dot") == 0)
		return picture_write_script(&graphviz, path, print_graph, report);
	if (drawn >= SLOW_BLOCKS)
		message_print(path,
		              "drawing %zu blocks may take long: '--cutoff 1' leaves out those that do not matter",
		              drawn);
	snprintf(form_option, sizeof(form_option), "-T%s", forms[form]);
	return picture_draw(&graphviz, arguments, path, print_graph, report, -1);
}
