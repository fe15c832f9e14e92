/*
 * dcpicalc - the cycles of a procedure, instruction by instruction, and what they were lost for
 *
 * Its options; what it shows is in dcpi-tools/calc/, and man/dcpicalc.1.scd describes it.
 */
#include <argp.h>
#include <string.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpicalc " DCPI_VERSION;

enum calc_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_CPU,
	KEY_ASM,
	KEY_CUTOFF,
	KEY_SUMMARY,
	KEY_LEGEND,
	KEY_GRAPH,
	KEY_CHECK,
	KEY_FROM,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Look in this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Take the samples of EVENT for time (default: cycles, else a clock)", 1},
	{"cpu", KEY_CPU, "MODEL", 0, "The pipeline: a model's name, or its file (default: that of the epoch's CPU)", 1},
	{"from", KEY_FROM, "SOURCE", 0,
         "Frequencies from exact counts, branches, instructions, bursts or samples (default: the best there is)", 1},
	{"summary", KEY_SUMMARY, NULL, 0, "Only where the cycles went, no instructions", 1},
	{"cutoff", KEY_CUTOFF, "PERCENT", 0, "Leave out blocks with less of the procedure's time", 1},
	{"check", KEY_CHECK, NULL, 0, "Compare the estimated executions with those that dcpix or dcpiemu counted", 1},
	{"graph", KEY_GRAPH, "FILE", 0, "Draw the flow graph into FILE (.svg, .png, .pdf or .dot) instead", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"asm", KEY_ASM, "SYNTAX", 0, "Instructions of x86-64: att (default) or intel", 3},
	{"legend", KEY_LEGEND, NULL, 0, "Explain letters and words below", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{0},
};

static enum report_from
parse_from(const char *text, struct argp_state *state)
{
	static const char *const names[] = {
		[FROM_EXACT] = "exact",   [FROM_BRANCHES] = "branches", [FROM_INSTRUCTIONS] = "instructions",
		[FROM_BURSTS] = "bursts", [FROM_SAMPLES] = "samples",
	};

	for (size_t i = FROM_EXACT; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum report_from)i;
	argp_error(state, "--from takes exact, branches, instructions, bursts or samples");
	return FROM_BEST;
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		tool_init_children(state, children, &request->options);
		return 0;
	case KEY_IMAGE:
		options_add_image(&request->options, text, state);
		return 0;
	case ARGP_KEY_ARG:
		procedure_options_argument(&request->procedure, &request->options, text, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		procedure_options_none(state);
		return 0;
	case KEY_EVENT:
		request->event = text;
		return 0;
	case KEY_CPU:
		request->cpu = text;
		return 0;
	case KEY_ASM:
		procedure_options_syntax(&request->procedure.syntax, text, state);
		return 0;
	case KEY_CUTOFF:
		request->cutoff_percent = options_number(state, "--cutoff", text, 0, 100);
		return 0;
	case KEY_SUMMARY:
		request->summary = true;
		return 0;
	case KEY_LEGEND:
		request->legend = true;
		return 0;
	case KEY_CHECK:
		request->check = true;
		return 0;
	case KEY_GRAPH:
		request->graph = text;
		return 0;
	case KEY_FROM:
		request->from = parse_from(text, state);
		return 0;
	case ARGP_KEY_END:
		if (request->check && request->from == FROM_EXACT)
			argp_error(state, "--check compares with the exact counts: --from another source");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "PROCEDURE [IMAGE...]",
	.doc = "Show the cycles of a procedure, instruction by instruction, and what they were lost for.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpicalc(1).",
	.children = children,
};

static int
draw(const struct report *report)
{
	return report->request->graph ? calc_report_draw(report) : TOOL_PRINTS;
}

int
main(int argc, char **argv)
{
	struct request request = {0};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.make = calc_report_make,
		.print_text = calc_report_print_text,
		.print_json = calc_report_print_json,
		.act = draw,
		.fini = calc_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
