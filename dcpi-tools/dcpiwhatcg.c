/*
 * dcpiwhatcg - where all the cycles have gone
 *
 * Its options; what it shows is in dcpi-tools/whatcg/, and man/dcpiwhatcg.1.scd describes it.
 */
#include <argp.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/whatcg/report.h"

const char *argp_program_version = "dcpiwhatcg " DCPI_VERSION;

enum whatcg_key {
	KEY_STALL = 1,
	KEY_LIMIT,
	KEY_CUTOFF,
	KEY_NO_DEMANGLE,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"by-image", 'i', NULL, 0, "Also of each image", 1},
	{"by-procedure", 'p', NULL, 0, "Also of each procedure", 1},
	{"stall", KEY_STALL, "REASON", 0, "Also the procedures that lost most for REASON: a row's name, or its letter",
         1},
	{"limit", KEY_LIMIT, "N", 0, "At most N images, and N procedures (default: 10)", 1},
	{"cutoff", KEY_CUTOFF, "PERCENT", 0, "Leave out images and procedures with less of all samples", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_survey, 0, NULL, 0},
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
		tool_init_children(state, children, &request->survey.options);
		state->child_inputs[0] = &request->survey;
		return 0;
	case 'i':
		request->by_image = true;
		return 0;
	case 'p':
		request->by_procedure = true;
		return 0;
	case KEY_STALL:
		request->has_stall = true;
		if (stall_row_find(text, &request->stall))
			return 0;
		argp_error(state, "--stall takes a row's name or a letter: %s", stall_row_names());
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	case KEY_CUTOFF:
		request->cutoff_percent = options_number(state, "--cutoff", text, 0, 100);
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
	.doc = "Show where the cycles went: what procedures lost to which reason, added up.\v"
	       "Without options: the latest epoch, all images. See dcpiwhatcg(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true, .limit = 10};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.survey.options,
		.make = whatcg_report_make,
		.print_text = whatcg_report_print_text,
		.print_json = whatcg_report_print_json,
		.fini = whatcg_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
