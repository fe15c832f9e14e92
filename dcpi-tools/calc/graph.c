#include "dcpi-tools/calc/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/calc/listing.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"

#define SLOW_BLOCKS     1000 /* from here on 'dot' takes long: 5,000 were not drawn in nine minutes */
#define HOT_PERCENT     1.0  /* of the time: blocks from here on have their instructions */
#define LINES_MAX       40   /* instructions of a block that are drawn */
#define NAME_COLUMNS    100
#define LEAST_STALL     0.5 /* cycles; less is within the errors */
#define WIDEST_POINTS   5.0 /* of an edge */
#define THINNEST_POINTS 0.5

/* What is drawn, and the largest of the numbers that sizes and colours are relative to. */
struct graph_drawing {
	const struct graph_source *source;
	double most_block, most_edge, most_samples; /* frequencies; samples of an instruction */
};

static bool
is_drawn(const struct graph_drawing *drawing, uint32_t block)
{
	const struct procedure_analysis *analysis = drawing->source->analysis;
	const double part = drawing->source->cutoff_percent;

	/* blocks that run often are drawn as well, or paths through them would be interrupted */
	return listing_block_percent(analysis, block) >= part ||
	       100 * analysis->frequencies.blocks[block].value >= part * drawing->most_block;
}

static size_t
count_drawn(const struct graph_drawing *drawing)
{
	size_t drawn = 0;

	for (uint32_t i = 0; i < drawing->source->analysis->graph->block_count; i++)
		drawn += is_drawn(drawing, i);
	return drawn;
}

static struct graph_drawing
make_drawing(const struct graph_source *source)
{
	const struct procedure_analysis *analysis = source->analysis;
	struct graph_drawing drawing = {.source = source};

	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		drawing.most_block = fmax(drawing.most_block, analysis->frequencies.blocks[i].value);
	for (uint32_t i = 0; i < analysis->graph->edge_count; i++)
		drawing.most_edge = fmax(drawing.most_edge, analysis->frequencies.edges[i].value);
	for (uint32_t i = 0; i < analysis->graph->instruction_count; i++)
		drawing.most_samples = fmax(drawing.most_samples, analysis->frequencies.samples[i]);
	return drawing;
}

/* Text inside a label or an attribute, which graphviz reads as XML; a backslash is no escape of its own then. */
static void
print_xml(const char *text, FILE *stream)
{
	char *shown = text_shown(text);
	const size_t length = shown ? text_prefix(shown, NAME_COLUMNS) : 0;

	for (size_t i = 0; i < length; i++) {
		if (strchr("&<>\"'\\", shown[i]))
			fprintf(stream, "&#%d;", shown[i]);
		else
			fputc(shown[i], stream);
	}
	if (shown && shown[length])
		fputs("...", stream);
	free(shown);
}

/* White to red, by `part` of the most; dark text stays readable on all of them. */
static void
print_color(double part, FILE *stream)
{
	const double heat = fmin(fmax(part, 0), 1);

	fprintf(stream, "#%02x%02x%02x", 255, (unsigned)(255 - 110 * heat), (unsigned)(255 - 155 * heat));
}

/* ---- blocks ---- */

/* The reason that may have cost an instruction most; NULL: it did not stall, or nothing explains it. */
static const struct stall *
worst_stall(const struct stalls *stalls, uint32_t instruction)
{
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	const struct stall *worst = NULL;

	if (late->stall_cycles < LEAST_STALL)
		return NULL;
	for (uint32_t i = 0; i < late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[late->stall + i];

		if (!worst || stall_compare(stall, worst) < 0)
			worst = stall;
	}
	return worst;
}

static void
print_cell(const char *align, FILE *stream)
{
	fprintf(stream, "</TD><TD ALIGN=\"%s\">", align);
}

static void
print_instruction(const struct graph_drawing *drawing, uint32_t block, uint32_t at, FILE *stream)
{
	const struct procedure_analysis *analysis = drawing->source->analysis;
	const struct instruction *instruction = &analysis->graph->instructions[at];
	const double samples = analysis->frequencies.samples[at],
		     cycles = procedure_instruction_cycles(analysis, block, at);
	const struct stall *stall = worst_stall(&analysis->stalls, at);
	char text[INSTRUCTION_TEXT_SIZE];

	instruction_format(drawing->source->code, instruction, drawing->source->syntax, text);
	fputs("<TR><TD ALIGN=\"LEFT\">", stream);
	fprintf(stream, "%06" PRIx64, instruction->address);
	fputs("</TD><TD ALIGN=\"LEFT\" BGCOLOR=\"", stream);
	print_color(drawing->most_samples > 0 ? samples / drawing->most_samples : 0, stream);
	fputs("\">", stream);
	print_xml(text, stream);
	print_cell("RIGHT", stream);
	if (samples > 0)
		fprintf(stream, "%.0f", samples);
	print_cell("RIGHT", stream);
	if (cycles > 0)
		fprintf(stream, "%.1fcy", cycles);
	print_cell("LEFT", stream);
	if (stall)
		print_xml(stall_cause_name(stall->cause), stream);
	fputs("</TD></TR>\n", stream);
}

static size_t
count_hot(const struct procedure_analysis *analysis, const struct flow_block *block, double least)
{
	size_t count = 0;

	for (uint32_t i = block->first; i < block->first + block->count; i++)
		count += analysis->frequencies.samples[i] >= least;
	return count;
}

/* The least samples of an instruction that is drawn, where a block has more than LINES_MAX. */
static double
least_drawn(const struct procedure_analysis *analysis, const struct flow_block *block)
{
	double least = block->count > LINES_MAX ? 1 : 0;

	while (count_hot(analysis, block, least) > LINES_MAX)
		least *= 2;
	return least;
}

static void
print_instructions(const struct graph_drawing *drawing, uint32_t index, FILE *stream)
{
	const struct procedure_analysis *analysis = drawing->source->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const double least = least_drawn(analysis, block);
	bool is_skipping = false;

	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		if (analysis->frequencies.samples[i] >= least) {
			print_instruction(drawing, index, i, stream);
			is_skipping = false;
		} else if (!is_skipping) {
			fputs("<TR><TD COLSPAN=\"5\" ALIGN=\"LEFT\">...</TD></TR>\n", stream);
			is_skipping = true;
		}
	}
}

static void
print_node(const struct graph_drawing *drawing, uint32_t index, FILE *stream)
{
	const struct procedure_analysis *analysis = drawing->source->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const double percent = listing_block_percent(analysis, index), cycles = procedure_block_cycles(analysis, index);
	const uint64_t address = analysis->graph->instructions[block->first].address;

	fprintf(stream,
	        "\tb%" PRIu32 " [tooltip=\"block %" PRIu32 "\", label=<<TABLE BORDER=\"%d\" CELLBORDER=\"0\" "
	        "CELLSPACING=\"0\" CELLPADDING=\"2\" BGCOLOR=\"white\"%s>\n<TR><TD COLSPAN=\"5\" "
	        "ALIGN=\"LEFT\" BGCOLOR=\"",
	        index, index, percent >= HOT_PERCENT ? 2 : 1, block->is_cold ? " STYLE=\"DASHED\"" : "");
	print_color(percent / 50, stream);
	fprintf(stream, "\"><B>%06" PRIx64 "</B>  %.1f%%", address, percent);
	if (cycles >= 0)
		fprintf(stream, "  %.2f CPI, best %.2f", cycles / block->count,
		        analysis->schedules[index].best_cycles / block->count);
	if (percent < HOT_PERCENT)
		fprintf(stream, "  %" PRIu32 " instruction%s", block->count, text_plural(block->count));
	fputs("</TD></TR>\n", stream);
	if (percent >= HOT_PERCENT)
		print_instructions(drawing, index, stream);
	fputs("</TABLE>>];\n", stream);
}

/* ---- edges, and the whole ---- */

static void
print_end(uint32_t block, const char *outside, FILE *stream)
{
	if (block == FLOW_OUTSIDE)
		fputs(outside, stream);
	else
		fprintf(stream, "b%" PRIu32, block);
}

static void
print_edge(const struct graph_drawing *drawing, uint32_t index, FILE *stream)
{
	const struct flow_edge *edge = &drawing->source->analysis->graph->edges[index];
	const double value = drawing->source->analysis->frequencies.edges[index].value;
	const double part = drawing->most_edge > 0 ? value / drawing->most_edge : 0;

	fputc('\t', stream);
	print_end(edge->from, "entry", stream);
	fputs(" -> ", stream);
	print_end(edge->to, "exit", stream);
	fprintf(stream, " [penwidth=%.2f, arrowsize=%.2f, style=%s, weight=%d, tooltip=\"%.3g\"];\n",
	        fmax(THINNEST_POINTS, WIDEST_POINTS * part), 0.7 - part / 3, value > 0 ? "solid" : "dotted",
	        1 + (int)(20 * part), value);
}

static void
print_title(const struct graph_drawing *drawing, FILE *stream)
{
	const struct graph_source *source = drawing->source;
	const size_t left_out = source->analysis->graph->block_count - count_drawn(drawing);

	fputs("digraph procedure {\n\tgraph [bgcolor=white, labelloc=t, labeljust=l, fontname=\"Helvetica\", "
	      "fontsize=14, "
	      "nodesep=0.3, ranksep=0.35, tooltip=\"flow graph\", label=<",
	      stream);
	print_xml(source->procedure, stream);
	fputs(" in ", stream);
	print_xml(source->image, stream);
	fputs("<BR ALIGN=\"LEFT\"/>samples, cycles and the likeliest reason of a stall; width of an edge: how often",
	      stream);
	if (left_out)
		fprintf(stream, "<BR ALIGN=\"LEFT\"/>%zu block%s with less than %g%% not drawn", left_out,
		        text_plural(left_out), source->cutoff_percent);
	fputs("<BR ALIGN=\"LEFT\"/>>];\n"
	      "\tnode [shape=plaintext, margin=\"0.05,0.06\", fontname=\"Courier\", fontsize=11];\n"
	      "\tedge [color=\"#335577\"];\n"
	      "\tentry [shape=circle, width=0.15, label=\"\", fillcolor=black, style=filled, tooltip=\"callers\"];\n"
	      "\texit [shape=doublecircle, width=0.12, label=\"\", fillcolor=black, style=filled, tooltip=\"back\"];\n",
	      stream);
}

/* A picture_printer; `context` is the drawing. */
static void
print_graph(const void *context, FILE *stream)
{
	const struct graph_drawing *drawing = context;
	const struct flow_graph *graph = drawing->source->analysis->graph;

	print_title(drawing, stream);
	for (uint32_t i = 0; i < graph->block_count; i++)
		if (is_drawn(drawing, i))
			print_node(drawing, i, stream);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];

		if ((edge->from == FLOW_OUTSIDE || is_drawn(drawing, edge->from)) &&
		    (edge->to == FLOW_OUTSIDE || is_drawn(drawing, edge->to)))
			print_edge(drawing, i, stream);
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
graph_draw(const struct graph_source *source, const char *path)
{
	static const char *const forms[] = {"svg", "png", "pdf", "dot"};
	const size_t form_count = sizeof(forms) / sizeof(forms[0]);
	const struct graph_drawing drawing = make_drawing(source);
	const bool is_output = strcmp(path, "-") == 0;
	const size_t form = is_output ? 0 : picture_form(path, forms, form_count), drawn = count_drawn(&drawing);
	char form_option[16];
	char *arguments[] = {(char *)"dot", form_option, (char *)"-o", (char *)path, NULL};

	if (form == form_count) {
		message_print(path, "a graph can be drawn into a file that ends in .svg, .png, .pdf or .dot");
		return STATUS_USAGE;
	}
	if (strcmp(forms[form], "dot") == 0)
		return picture_write_script(&graphviz, path, print_graph, &drawing);
	if (drawn >= SLOW_BLOCKS)
		message_print(path,
		              "drawing %zu blocks may take long: '--cutoff 1' leaves out those that do not matter",
		              drawn);
	snprintf(form_option, sizeof(form_option), "-T%s", forms[form]);
	if (is_output)
		arguments[2] = NULL;
	return picture_draw(&graphviz, arguments, path, print_graph, &drawing, -1);
}
