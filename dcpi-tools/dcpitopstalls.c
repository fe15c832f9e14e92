/*
 * dcpitopstalls - the instructions that lost most, and who is to blame
 *
 * Its options; what it shows is in dcpi-tools/topstalls/, and man/dcpitopstalls.1.scd describes it.
 */
#include <argp.h>

#include "dcpi-tools/common/procedure_options.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/topstalls/report.h"

const char *argp_program_version = "dcpitopstalls " DCPI_VERSION;

enum topstalls_key {
	KEY_LIMIT = 1,
	KEY_CUTOFF,
	KEY_SOURCE,
	KEY_NO_DEMANGLE,
	KEY_ASM,
	KEY_CHECK,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"limit", KEY_LIMIT, "N", 0, "At most N instructions (default: 20)", 1},
	{"cutoff", KEY_CUTOFF, "PERCENT", 0, "Leave out instructions that lost less of all samples", 1},
	{"source", KEY_SOURCE, NULL, 0, "Source lines, too, where there is debug information", 1},
	{"check", KEY_CHECK, NULL, 0,
         "Instead: how right what is inferred of each procedure is, by exact counts and what dcpiemu knows", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"asm", KEY_ASM, "SYNTAX", 0, "Instructions of x86-64: att (default) or intel", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_survey, 0, NULL, 0}, {&options_database, 0, NULL, 0}, {&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0}, {&options_table, 0, NULL, 0},    {0},
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
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	case KEY_CUTOFF:
		request->cutoff_percent = options_number(state, "--cutoff", text, 0, 100);
		return 0;
	case KEY_SOURCE:
		request->source = true;
		return 0;
	case KEY_CHECK:
		request->survey.check = true;
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	case KEY_ASM:
		procedure_options_syntax(&request->syntax, text, state);
		return 0;
	case ARGP_KEY_END:
		if (request->survey.check && request->survey.options.format == FORMAT_CSV)
			argp_error(state, "--check prints text or --json");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[IMAGE...]",
	.doc = "Show the instructions that lost most time, for which reasons, and which others are to blame.\v"
	       "Without options: the latest epoch, all images. See dcpitopstalls(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true, .limit = 20};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.survey.options,
		.make = topstalls_report_make,
		.print_text = topstalls_report_print_text,
		.print_json = topstalls_report_print_json,
		.print_csv = topstalls_report_print_csv,
		.fini = topstalls_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
