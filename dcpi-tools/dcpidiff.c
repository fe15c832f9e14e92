/*
 * dcpidiff - two sets of samples beside each other: what takes more of the time, what less, and how sure that is
 *
 * Its options; what it shows is in dcpi-tools/diff/, and man/dcpidiff.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/procedure_options.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/diff/report.h"

const char *argp_program_version = "dcpidiff " DCPI_VERSION;

enum diff_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_CPU,
	KEY_COMPARE,
	KEY_CONFIDENCE,
	KEY_MARKED,
	KEY_LIMIT,
	KEY_NO_DEMANGLE,
	KEY_LINES,
	KEY_INSTRUCTIONS,
	KEY_ASM,
	KEY_BEFORE,
	KEY_AFTER,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is compared:", 1},
	{"by-image", 'i', NULL, 0, "Images, not procedures", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image; behind a --set, of this set", 1},
	{"event", KEY_EVENT, "EVENT", 0, "Samples of this event (default: the first)", 1},
	{"compare", KEY_COMPARE, "WHAT", 0, "samples (the default), cpi, frequency or stalls", 1},
	{"lines", KEY_LINES, NULL, 0, "A procedure by source lines, also of one build", 1},
	{"instructions", KEY_INSTRUCTIONS, NULL, 0, "A procedure by instructions, also of several builds", 1},
	{"cpu", KEY_CPU, "MODEL", 0, "The pipeline: a model's name, or its file (default: that of the epoch's CPU)", 1},
	{"confidence", KEY_CONFIDENCE, "PERCENT", 0, "Of the intervals (default: 95)", 1},
	{"marked", KEY_MARKED, NULL, 0, "Only rows that differ by more than sampling explains, and runs", 1},
	{"changed", KEY_MARKED, NULL, OPTION_HIDDEN, NULL, 1}, /* as it was called before there were runs */
	{"limit", KEY_LIMIT, "N", 0, "At most N rows", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{"before", KEY_BEFORE, "PATTERN", 0, "The first set: the runs whose labels match", 2},
	{"after", KEY_AFTER, "PATTERN", 0, "The second set, likewise", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"asm", KEY_ASM, "SYNTAX", 0, "Instructions of x86-64 as att (the default) or intel writes them", 3},
	{0},
};

enum diff_child { CHILD_SETS, CHILD_OUTPUT, CHILD_TABLE };

static const struct argp_child children[] = {
	[CHILD_SETS] = {&profile_sets_options, 0, NULL, 0},
	[CHILD_OUTPUT] = {&options_output, 0, NULL, 0},
	[CHILD_TABLE] = {&options_table, 0, NULL, 0},
	{0},
};

static void
add_image(struct request *request, const char *text, size_t group, const struct argp_state *state)
{
	struct side_pattern *patterns = array_grow(request->patterns, &request->pattern_capacity,
	                                           request->pattern_count + 1, sizeof(*patterns));

	if (!patterns) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "--image");
		return;
	}
	request->patterns = patterns;
	patterns[request->pattern_count++] = (struct side_pattern){.text = text, .group = group};
}

static enum measure
measure_called(const char *text, const struct argp_state *state)
{
	for (enum measure measure = 0; measure < MEASURE_COUNT; measure++)
		if (strcmp(text, measure_names[measure]) == 0)
			return measure;
	argp_error(state, "--compare is one of 'samples', 'cpi', 'frequency' and 'stalls'");
	return MEASURE_SAMPLES;
}

/* A folder that holds a database, or what can be nothing else. */
static bool
is_database(const struct request *request, const char *text)
{
	char path[PATH_MAX];
	const int length = snprintf(path, sizeof(path), "%s/data.mdb", text);
	const size_t name = strlen(text), suffix = strlen(".db");

	if (length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0)
		return true;
	if (name > suffix && strcmp(text + name - suffix, ".db") == 0)
		return true;
	return !request->procedure && (text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0);
}

/* DATABASE DATABASE, PROCEDURE [IMAGE...] */
static void
take_argument(struct request *request, const char *text, const struct argp_state *state)
{
	if (is_database(request, text))
		profile_sets_argument(&request->sets, text, state);
	else if (!request->procedure)
		request->procedure = text;
	else
		add_image(request, text, 0, state);
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		tool_init_children(state, children, &request->options);
		state->child_inputs[CHILD_SETS] = &request->sets;
		return 0;
	case 'i':
		request->side.by_image = true;
		return 0;
	case KEY_IMAGE:
		add_image(request, text, request->sets.group_count, state);
		return 0;
	case KEY_EVENT:
		request->side.event = text;
		return 0;
	case KEY_CPU:
		request->side.cpu = text;
		return 0;
	case KEY_COMPARE:
		request->measure = measure_called(text, state);
		return 0;
	case KEY_CONFIDENCE:
		request->confidence_percent = options_number(state, "--confidence", text, 1, 99.9999);
		return 0;
	case KEY_MARKED:
		request->marked_only = true;
		return 0;
	case KEY_BEFORE:
	case KEY_AFTER:
		profile_sets_side(&request->sets, key == KEY_AFTER, text, state);
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	case KEY_NO_DEMANGLE:
		request->side.demangle = false;
		return 0;
	case KEY_LINES:
		request->view = VIEW_LINES;
		return 0;
	case KEY_INSTRUCTIONS:
		request->view = VIEW_INSTRUCTIONS;
		return 0;
	case KEY_ASM:
		procedure_options_syntax(&request->syntax, text, state);
		return 0;
	case ARGP_KEY_ARG:
		take_argument(request, text, state);
		return 0;
	case ARGP_KEY_END:
		if (request->side.by_image && request->procedure)
			argp_error(state, "--by-image compares images, not a procedure");
		if (request->view != VIEW_BEST && !request->procedure)
			argp_error(state, "--lines and --instructions are of one procedure: name it");
		if (request->side.by_image && request->measure != MEASURE_SAMPLES)
			argp_error(state, "--by-image compares samples only");
		request->side.analyze = request->measure != MEASURE_SAMPLES;
		request->side.patterns = request->patterns;
		request->side.pattern_count = request->pattern_count;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[DATABASE DATABASE] [PROCEDURE [IMAGE...]]",
	.doc = "Compare two sets of samples of dcpi profile databases: all procedures or images, or one procedure.\v"
	       "A set is a database, a label, an epoch, a stretch of time, or what follows a --set. See dcpidiff(1).",
	.children = children,
};

static int
print_text(const struct report *report, const struct output *output)
{
	return (report->request->procedure ? code_print_text : diff_report_print_text)(report, output);
}

static int
print_json(const struct report *report, FILE *stream)
{
	return (report->request->procedure ? code_print_json : diff_report_print_json)(report, stream);
}

static int
print_csv(const struct report *report, FILE *stream)
{
	return (report->request->procedure ? code_print_csv : diff_report_print_csv)(report, stream);
}

int
main(int argc, char **argv)
{
	struct request request = {.side = {.demangle = true}, .confidence_percent = 95};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.without_database = true,
		.make = diff_report_make,
		.print_text = print_text,
		.print_json = print_json,
		.print_csv = print_csv,
		.fini = diff_report_fini,
	};
	int status;

	profile_sets_init(&request.sets);
	status = tool_run(&tool, &request, &report, argc, argv);
	profile_sets_fini(&request.sets);
	free(request.patterns);
	return status;
}
