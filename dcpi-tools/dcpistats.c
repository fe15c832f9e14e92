/*
 * dcpistats - which procedures vary from one set of samples to another
 *
 * Its options; what it shows is in dcpi-tools/stats/, and man/dcpistats.1.scd describes it.
 */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/stats/report.h"

const char *argp_program_version = "dcpistats " DCPI_VERSION;

/* The request, and the sets that it points to. */
struct stats_command {
	struct stats_request request;
	struct profile_sets sets;
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

static void
take_normalization(void *member, char *text, struct argp_state *state)
{
	static const char *const normalizations[] = {"none", "total", "time", NULL};

	*(enum stats_normalization *)member =
		(enum stats_normalization)choice(state, "--normalize", text, normalizations);
}

static void
take_sort(void *member, char *text, struct argp_state *state)
{
	static const char *const sorts[] = {"range", "sum", "p", "deviation", NULL};

	*(enum stats_sort *)member = (enum stats_sort)choice(state, "--sort", text, sorts);
}

static void
take_noise(void *member, char *text, struct argp_state *state)
{
	double *noise = member;

	if (strcmp(text, "auto") == 0)
		*noise = VARIATION_ESTIMATED;
	else if (strcmp(text, "sampling") == 0)
		*noise = 0;
	else
		*noise = options_number(state, "--noise (if neither auto nor sampling)", text, 0, 1000) / 100;
}

static void
take_event(void *member, char *text, struct argp_state *state)
{
	struct shown_events_request *shown_events = member;

	shown_events->event_count = 0; /* the last one counts */
	options_add_event(shown_events, text, state);
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_ENUM(1, "by-image", 'i', struct stats_request, kind, ROW_IMAGE,
                    "A row for each image, not each procedure"),
	OPTION_ENUM(1, "by-instruction", 0, struct stats_request, kind, ROW_INSTRUCTION, "A row for each instruction"),
	OPTION_IMAGE(struct stats_request, options),
	OPTION_CALL(1, "event", 0, "EVENT", offsetof(struct stats_request, shown_events), take_event,
                    "Samples of this event (default: the first)"),
	OPTION_CALL(1, "normalize", 0, "BY", offsetof(struct stats_request, normalization), take_normalization,
                    "Compare counts divided by nothing (none), the set's total, or its time"),
	OPTION_CALL(1, "noise", 0, "NOISE", offsetof(struct stats_request, noise), take_noise,
                    "What sets differ by anyway: auto (what rows usually do), sampling (nothing else), or a number of "
                    "percent"),
	OPTION_DOUBLE(1, "p", "P", struct stats_request, p, 0, 1,
                      "Mark what noise makes with this probability at most (default: 0.01)"),
	OPTION_CALL(1, "sort", 0, "BY", offsetof(struct stats_request, sort), take_sort,
                    "Sort by range (default), sum, p or deviation"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct stats_request, cutoff_percent, 0, 100,
                      "Leave out rows that have less of all samples"),
	OPTION_ROW_LIMIT(struct stats_request, limit),
	OPTION_TRUE(1, "all", 0, struct stats_request, all, "Also rows with too few samples to be tested"),
	OPTION_NO_DEMANGLE(struct stats_request, demangle),
	OPTION_HEADING(2, "Which sets of samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_TEXT(3, "plot", "FILE", struct stats_request, plot,
                    "Draw a strip for each row into FILE: .svg, .png, .pdf or .gnuplot"),
	OPTION_ARGUMENT(offsetof(struct stats_command, sets), profile_sets_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[DATABASE...]",
	.doc = "Show which procedures vary from one set of samples to another, and which of them more than noise "
	       "explains.\v"
	       "A set is a database, or what a --label, an --epoch, a --since with --until or a --set selects; a "
	       "pattern of labels is a set for each that it matches. See dcpistats(1).",
	.shared = SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct stats_request, options),
	.child = &profile_sets_options,
	.child_offset = offsetof(struct stats_command, sets),
};

TOOL_CSV_FUNCTION(stats)

static int
draw(const struct report *report)
{
	const struct stats_report *drawn = (const void *)report;
	const int status = drawn->request->plot ? stats_report_plot(drawn) : STATUS_OK;

	return status ? status : TOOL_PRINTS;
}

TOOL_DEFINE(stats, .without_database = true, .print_csv = tool_print_csv, .act = draw)

int
main(int argc, char **argv)
{
	struct stats_command command = {
		.request = {.sets = &command.sets, .demangle = true, .noise = VARIATION_ESTIMATED, .p = 0.01}};
	struct stats_report report;
	int status;

	profile_sets_init(&command.sets);
	status = tool_run(&tool, &command.request, &report, argc, argv);
	profile_sets_fini(&command.sets);
	return status;
}
