/*
 * dcpidiff - two sets of samples beside each other: what takes more of the time, what less, and how sure that is
 *
 * Its options; what it shows is in dcpi-tools/diff/, and man/dcpidiff.1.scd describes it.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/diff/report.h"

const char *argp_program_version = "dcpidiff " DCPI_VERSION;

static void
add_image(struct diff_request *request, const char *text, size_t group, const struct argp_state *state)
{
	struct input_pattern *patterns = array_grow(request->patterns, &request->pattern_capacity,
	                                            request->pattern_count + 1, sizeof(*patterns));

	if (!patterns) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "--image");
		return;
	}
	request->patterns = patterns;
	patterns[request->pattern_count++] = (struct input_pattern){.text = text, .group = group};
}

static void
take_image(void *member, char *text, struct argp_state *state)
{
	struct diff_request *request = member;

	add_image(request, text, request->sets.group_count, state);
}

static void
take_measure(void *member, char *text, struct argp_state *state)
{
	for (enum diff_measure measure = 0; measure < MEASURE_COUNT; measure++)
		if (strcmp(text, diff_measure_names[measure]) == 0) {
			*(enum diff_measure *)member = measure;
			return;
		}
	argp_error(state, "--compare is one of 'samples', 'cpi', 'frequency' and 'stalls'");
}

static void
take_before(void *member, char *text, struct argp_state *state)
{
	profile_sets_side(member, 0, text, state);
}

static void
take_after(void *member, char *text, struct argp_state *state)
{
	profile_sets_side(member, 1, text, state);
}

/* A directory with a database, or a name that cannot be a procedure. */
static bool
is_database(const struct diff_request *request, const char *text)
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
take_argument(void *member, char *text, struct argp_state *state)
{
	struct diff_request *request = member;

	if (is_database(request, text))
		profile_sets_argument(&request->sets, text, state);
	else if (!request->procedure)
		request->procedure = text;
	else
		add_image(request, text, 0, state);
}

static void
check(void *checked, struct argp_state *state)
{
	struct diff_request *request = checked;

	if (request->input.by_image && request->procedure)
		argp_error(state, "--by-image compares images, not a procedure");
	if (request->view != VIEW_BEST && !request->procedure)
		argp_error(state, "--lines and --instructions are of one procedure: name it");
	if (request->input.by_image && request->measure != MEASURE_SAMPLES)
		argp_error(state, "--by-image compares samples only");
	request->input.analyze = request->measure != MEASURE_SAMPLES;
	request->input.patterns = request->patterns;
	request->input.pattern_count = request->pattern_count;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is compared:"),
	OPTION_TRUE(1, "by-image", 'i', struct diff_request, input.by_image, "Images, not procedures"),
	OPTION_CALL(1, "image", 0, "IMAGE", 0, take_image, "Only this image; behind a --set, of this set"),
	OPTION_TEXT(1, "event", "EVENT", struct diff_request, input.event,
                    "Samples of this event (default: the first)"),
	OPTION_CALL(1, "compare", 0, "WHAT", offsetof(struct diff_request, measure), take_measure,
                    "samples (the default), cpi, frequency or stalls"),
	OPTION_ENUM(1, "lines", 0, struct diff_request, view, VIEW_LINES,
                    "A procedure by source lines, also of one build"),
	OPTION_ENUM(1, "instructions", 0, struct diff_request, view, VIEW_INSTRUCTIONS,
                    "A procedure by instructions, also of several builds"),
	OPTION_CPU(struct diff_request, input.cpu),
	OPTION_DOUBLE(1, "confidence", "PERCENT", struct diff_request, confidence_percent, 1, 99.9999,
                      "Of the intervals (default: 95)"),
	OPTION_TRUE(1, "marked", 0, struct diff_request, marked_only,
                    "Only rows that differ by more than sampling explains, and runs"),
	OPTION_TRUE(1, "changed", 0, struct diff_request, marked_only,
                    NULL), /* as it was called before there were runs */
	OPTION_ROW_LIMIT(struct diff_request, limit),
	OPTION_NO_DEMANGLE(struct diff_request, input.demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_CALL(2, "before", 0, "PATTERN", offsetof(struct diff_request, sets), take_before,
                    "The first set: the runs whose labels match"),
	OPTION_CALL(2, "after", 0, "PATTERN", offsetof(struct diff_request, sets), take_after,
                    "The second set, likewise"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct diff_request, syntax, "Instructions of x86-64 as att (the default) or intel writes them"),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[DATABASE DATABASE] [PROCEDURE [IMAGE...]]",
	.doc = "Compare two sets of samples of dcpi profile databases: all procedures or images, or one procedure.\v"
	       "A set is a database, a label, an epoch, a stretch of time, or what follows a --set. See dcpidiff(1).",
	.shared = SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct diff_request, options),
	.child = &profile_sets_options,
	.child_offset = offsetof(struct diff_request, sets),
	.check = check,
};

TOOL_CSV_FUNCTION(diff)
TOOL_DEFINE(diff, .without_database = true, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct diff_request request = {.input = {.demangle = true}, .confidence_percent = 95};
	struct diff_report report;
	int status;

	profile_sets_init(&request.sets);
	status = tool_run(&tool, &request, &report, argc, argv);
	profile_sets_fini(&request.sets);
	free(request.patterns);
	return status;
}
