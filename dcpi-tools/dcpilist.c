/*
 * dcpilist - the source lines and instructions of a procedure, with their samples
 *
 * Its options; what it shows is in dcpi-tools/list/, and man/dcpilist.1.scd describes it.
 */
#include <argp.h>

#include "dcpi-tools/list/report.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpilist " DCPI_VERSION;

enum list_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_SOURCE,
	KEY_FREQUENCY,
	KEY_CPU,
	KEY_INSTRUCTIONS,
	KEY_ASM,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Look in this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the column of this event", 1},
	{"frequency", KEY_FREQUENCY, NULL, 0, "And how often each ran, by the best source there is", 1},
	{"cpu", KEY_CPU, "MODEL", 0, "The pipeline for that: a model's name, or its file (default: the epoch's)", 1},
	{"source", KEY_SOURCE, NULL, 0, "Only source lines", 1},
	{"instructions", KEY_INSTRUCTIONS, NULL, 0, "Only instructions", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"asm", KEY_ASM, "SYNTAX", 0, "Instructions of x86-64: att (default) or intel", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{0},
};

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
		options_add_event(&request->columns, text, state);
		return 0;
	case KEY_FREQUENCY:
		request->frequency = true;
		return 0;
	case KEY_CPU:
		request->cpu = text;
		return 0;
	case KEY_SOURCE:
		request->mode = LIST_SOURCE;
		return 0;
	case KEY_INSTRUCTIONS:
		request->mode = LIST_INSTRUCTIONS;
		return 0;
	case KEY_ASM:
		procedure_options_syntax(&request->procedure.syntax, text, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "PROCEDURE [IMAGE...]",
	.doc = "Show the source lines and instructions of a procedure, with their samples.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpilist(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {0};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.make = list_report_make,
		.print_text = list_report_print_text,
		.print_json = list_report_print_json,
		.fini = list_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
