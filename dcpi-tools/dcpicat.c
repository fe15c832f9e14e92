/*
 * dcpicat - a profile as text: the counts of each image, a line for each offset
 *
 * Its options; what it shows is in dcpi-tools/cat/, and man/dcpicat.1.scd describes it.
 */
#include <argp.h>

#include "dcpi-tools/cat/report.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpicat " DCPI_VERSION;

enum cat_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_NAMES,
	KEY_NO_DEMANGLE,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the columns of this event", 1},
	{"names", KEY_NAMES, NULL, 0, "The procedure that each offset is in, too", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{&options_table, 0, NULL, 0},
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
	case ARGP_KEY_ARG:
		options_add_image(&request->options, text, state);
		return 0;
	case KEY_EVENT:
		options_add_event(&request->columns, text, state);
		return 0;
	case KEY_NAMES:
		request->names = true;
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[IMAGE...]",
	.doc = "Print the counts of a dcpi profile database, a line for each offset of each image.\v"
	       "The form is made for scripts and stays as it is. See dcpicat(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.make = cat_report_make,
		.print_text = cat_report_print_text,
		.print_json = cat_report_print_json,
		.print_csv = cat_report_print_csv,
		.fini = cat_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
