/*
 * dcpiexport - a profile in the formats of other tools
 *
 * Its options; what it writes is in dcpi-tools/export/, and man/dcpiexport.1.scd describes it.
 */
#include <argp.h>
#include <string.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/export/report.h"

const char *argp_program_version = "dcpiexport " DCPI_VERSION;

enum export_key {
	KEY_PPROF = 1, /* these three: 1 and the form */
	KEY_FOLDED,
	KEY_CALLGRIND,
	KEY_IMAGE,
	KEY_EVENT,
	KEY_NO_LINES,
	KEY_NO_DEMANGLE,
	KEY_JSON,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is written (a FILE of - is standard output):", 1},
	{"pprof", KEY_PPROF, "FILE", 0, "For 'go tool pprof' and what else reads profile.proto, compressed", 1},
	{"folded", KEY_FOLDED, "FILE", 0, "For flame graphs: a line IMAGE;PROCEDURE SAMPLES for each procedure", 1},
	{"callgrind", KEY_CALLGRIND, "FILE", 0, "For callgrind_annotate and kcachegrind", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only this event", 1},
	{"no-lines", KEY_NO_LINES, NULL, 0, "Do not look for source lines", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "What is said of it:", 3},
	{"json", KEY_JSON, NULL, 0, "Print as JSON what was written", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{0},
};

/* What does not go together. */
static void
check(const struct argp_state *state, const struct request *request)
{
	const bool is_json = request->options.format == FORMAT_JSON;
	unsigned files = 0, outputs = 0;

	for (unsigned form = 0; form < EXPORT_FORMS; form++) {
		files += request->paths[form] != NULL;
		outputs += request->paths[form] && strcmp(request->paths[form], "-") == 0;
	}
	if (files == 0)
		argp_error(state, "in which format? --pprof FILE, --folded FILE or --callgrind FILE");
	if (outputs + is_json > 1)
		argp_error(state, "standard output takes one thing only");
	if (request->paths[EXPORT_FOLDED] && request->columns.event_count > 1)
		argp_error(state, "--folded has room for one event: name one --event");
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		tool_init_children(state, children, &request->options);
		return 0;
	case KEY_PPROF:
	case KEY_FOLDED:
	case KEY_CALLGRIND:
		request->paths[key - KEY_PPROF] = text;
		return 0;
	case KEY_IMAGE:
	case ARGP_KEY_ARG:
		options_add_image(&request->options, text, state);
		return 0;
	case KEY_EVENT:
		options_add_event(&request->columns, text, state);
		return 0;
	case KEY_NO_LINES:
		request->lines = false;
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	case KEY_JSON:
		request->options.format = FORMAT_JSON;
		return 0;
	case ARGP_KEY_END:
		check(state, request);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[IMAGE...]",
	.doc = "Write a profile in the formats of other tools.\v"
	       "Without options: the latest epoch, all images. See dcpiexport(1).",
	.children = children,
};

int
main(int argc, char **argv)
{
	struct request request = {.demangle = true, .lines = true};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.make = export_report_make,
		.print_json = export_report_print_json,
		.act = export_report_write,
		.fini = export_report_fini,
	};

	return tool_run(&tool, &request, &report, argc, argv);
}
