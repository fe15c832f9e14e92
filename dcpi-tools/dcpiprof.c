/*
 * dcpiprof - where the samples fell, by procedure or by image
 *
 * Its options; what it shows is in dcpi-tools/prof/, and man/dcpiprof.1.scd describes it.
 */
#include <argp.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/prof/report.h"

const char *argp_program_version = "dcpiprof " DCPI_VERSION;

enum prof_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_SORT,
	KEY_KEEP,
	KEY_LIMIT,
	KEY_NO_DEMANGLE,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"by-image", 'i', NULL, 0, "A row for each image, not each procedure", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the columns of this event", 1},
	{"sort", KEY_SORT, "EVENT", 0, "Sort by this event", 1},
	{"keep", KEY_KEEP, "PERCENT", 0, "Only the rows that PERCENT of the samples need", 1},
	{"limit", KEY_LIMIT, "N", 0, "At most N rows", 1},
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
	case 'i':
		request->by_image = true;
		return 0;
	case KEY_IMAGE:
	case ARGP_KEY_ARG:
		options_add_image(&request->options, text, state);
		return 0;
	case KEY_EVENT:
		options_add_event(&request->columns, text, state);
		return 0;
	case KEY_SORT:
		request->columns.sort = text;
		return 0;
	case KEY_KEEP:
		request->keep_percent = options_number(state, "--keep", text, 0, 100);
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
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
	.doc = "Show where the samples of a dcpi profile database fell, by procedure or by image.\v"
	       "Without options: the latest epoch, all images. See dcpiprof(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true, .keep_percent = 100};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.make = prof_report_make,
		.print_text = prof_report_print_text,
		.print_json = prof_report_print_json,
		.print_csv = prof_report_print_csv,
		.fini = prof_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
