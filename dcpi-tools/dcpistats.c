/*
 * dcpistats - which procedures vary from one set of samples to another
 *
 * Its options; what it shows is in dcpi-tools/stats/, and man/dcpistats.1.scd describes it.
 */
#include <argp.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/stats/report.h"

const char *argp_program_version = "dcpistats " DCPI_VERSION;

enum stats_key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_BY_INSTRUCTION,
	KEY_NORMALIZE,
	KEY_NOISE,
	KEY_P,
	KEY_SORT,
	KEY_CUTOFF,
	KEY_LIMIT,
	KEY_ALL,
	KEY_NO_DEMANGLE,
	KEY_PLOT,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"by-image", 'i', NULL, 0, "A row for each image, not each procedure", 1},
	{"by-instruction", KEY_BY_INSTRUCTION, NULL, 0, "A row for each instruction", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Samples of this event (default: the first)", 1},
	{"normalize", KEY_NORMALIZE, "BY", 0, "Compare counts divided by nothing (none), the set's total, or its time",
         1},
	{"noise", KEY_NOISE, "NOISE", 0,
         "What sets differ by anyway: auto (what rows usually do), sampling (nothing else), or a number of percent", 1},
	{"p", KEY_P, "P", 0, "Mark what noise makes with this probability at most (default: 0.01)", 1},
	{"sort", KEY_SORT, "BY", 0, "Sort by range (default), sum, p or deviation", 1},
	{"cutoff", KEY_CUTOFF, "PERCENT", 0, "Leave out rows that have less of all samples", 1},
	{"limit", KEY_LIMIT, "N", 0, "At most N rows", 1},
	{"all", KEY_ALL, NULL, 0, "Also rows with too few samples to be tested", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which sets of samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"plot", KEY_PLOT, "FILE", 0, "Draw a strip for each row into FILE: .svg, .png, .pdf or .gnuplot", 3},
	{0},
};

static const struct argp_child children[] = {
	{&profile_sets_options, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{&options_table, 0, NULL, 0},
	{0},
};

/* Which of `names` is `text`; the program ends with a sentence that lists them if none. */
static int
choice(const struct argp_state *state, const char *option, const char *text, const char *const *names)
{
	char *shown;
	int found = 0;

	while (names[found] && strcmp(names[found], text) != 0)
		found++;
	if (names[found])
		return found;
	shown = text_shown(text);
	argp_error(state, "%s '%s' is not one of %s, %s%s%s%s%s", option, shown ? shown : "?", names[0], names[1],
	           names[2] ? ", " : "", names[2] ? names[2] : "", names[2] && names[3] ? ", " : "",
	           names[2] && names[3] ? names[3] : "");
	return 0;
}

static double
noise(const struct argp_state *state, const char *text)
{
	if (strcmp(text, "auto") == 0)
		return VARIATION_ESTIMATED;
	if (strcmp(text, "sampling") == 0)
		return 0;
	return options_number(state, "--noise (if neither auto nor sampling)", text, 0, 1000) / 100;
}

static error_t
parse_choice(int key, const char *text, const struct argp_state *state, struct request *request)
{
	static const char *const normalizations[] = {"none", "total", "time", NULL};
	static const char *const sorts[] = {"range", "sum", "p", "deviation", NULL};

	switch (key) {
	case KEY_NORMALIZE:
		request->normalization = (enum normalization)choice(state, "--normalize", text, normalizations);
		return 0;
	case KEY_SORT:
		request->sort = (enum sort_key)choice(state, "--sort", text, sorts);
		return 0;
	case KEY_NOISE:
		request->noise = noise(state, text);
		return 0;
	case KEY_P:
		request->p = options_number(state, "--p", text, 0, 1);
		return 0;
	case KEY_CUTOFF:
		request->cutoff_percent = options_number(state, "--cutoff", text, 0, 100);
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		tool_init_children(state, children, &request->options);
		state->child_inputs[0] = request->sets;
		return 0;
	case 'i':
		request->kind = ROW_IMAGE;
		return 0;
	case KEY_BY_INSTRUCTION:
		request->kind = ROW_INSTRUCTION;
		return 0;
	case KEY_IMAGE:
		options_add_image(&request->options, text, state);
		return 0;
	case KEY_EVENT:
		request->columns.event_count = 0; /* the last one counts */
		options_add_event(&request->columns, text, state);
		return 0;
	case KEY_ALL:
		request->all = true;
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	case KEY_PLOT:
		request->plot = text;
		return 0;
	case ARGP_KEY_ARG:
		profile_sets_argument(request->sets, text, state);
		return 0;
	default:
		return parse_choice(key, text, state, request);
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[DATABASE...]",
	.doc = "Show which procedures vary from one set of samples to another, and which of them more than noise "
	       "explains.\v"
	       "A set is a database, or what a --label, an --epoch, a --since with --until or a --set selects; a "
	       "pattern of "
	       "labels is a set for each that it matches. See dcpistats(1).",
	.children = children,
};

static int
draw_report(const struct report *report)
{
	const int status = report->request->plot ? stats_report_plot(report) : STATUS_OK;

	return status ? status : TOOL_PRINTS;
}

int
main(int argc, char **argv)
{
	struct profile_sets sets;
	struct request request = {.sets = &sets, .demangle = true, .noise = VARIATION_ESTIMATED, .p = 0.01};
	struct report report;
	const struct tool tool = {
		.argp = &argp,
		.options = &request.options,
		.without_database = true,
		.make = stats_report_make,
		.print_text = stats_report_print_text,
		.print_json = stats_report_print_json,
		.print_csv = stats_report_print_csv,
		.act = draw_report,
		.fini = stats_report_fini,
	};
	int status;

	profile_sets_init(&sets);
	status = tool_run(&tool, &request, &report, argc, argv);
	profile_sets_fini(&sets);
	return status;
}
