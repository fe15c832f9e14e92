/*
 * dcpiflame - call stacks as a flame graph, or the difference of two sets of them
 *
 * Its options; what it draws is in dcpi-tools/flame/, and man/dcpiflame.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/flame/report.h"

const char *argp_program_version = "dcpiflame " DCPI_VERSION;

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

static void
take_path(void *member, char *text, struct argp_state *state)
{
	const char **path = member;

	if (*path)
		argp_error(state, "a flame graph is written into one file: '%s' or '%s'?", *path, text);
	*path = text;
}

static void
check(void *checked, struct argp_state *state)
{
	struct flame_request *request = checked;

	(void)state;
	request->options.request.stacks = true;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is drawn:"),
	OPTION_IMAGE(struct flame_request, options),
	OPTION_SHOWN_EVENTS(struct flame_request, shown_events, "Stacks of this event's samples (default: the first)"),
	OPTION_DOUBLE(1, "least", "PERCENT", struct flame_request, least_percent, 0, 100,
                      "Only frames with PERCENT of the samples (0.1)"),
	OPTION_NO_DEMANGLE(struct flame_request, demangle),
	OPTION_NO_INLINE(struct flame_request, no_inline),
	OPTION_FALSE(1, "no-script", struct flame_request, has_script, "A picture that neither zooms nor searches"),
	OPTION_HEADING(2, "Which samples (two sets: their difference):"),
	OPTION_CALL(2, "before", 0, "PATTERN", offsetof(struct flame_request, sets), take_before,
                    "The first set: the runs whose labels match"),
	OPTION_CALL(2, "after", 0, "PATTERN", offsetof(struct flame_request, sets), take_after,
                    "The second set, likewise"),
	OPTION_CALL(2, "versus", 0, "EPOCH", offsetof(struct flame_request, sets), profile_sets_versus,
                    "What the --epoch before it is compared with"),
	OPTION_ARGUMENT(offsetof(struct flame_request, path), take_path),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[FILE.svg]",
	.doc = "Draw call stacks as a flame graph: one SVG file that zooms and searches in a browser.\v"
	       "Without options: the latest epoch, to standard output. Two sets of samples: their difference. "
	       "See dcpiflame(1).",
	.options = offsetof(struct flame_request, options),
	.child = &profile_sets_options,
	.child_offset = offsetof(struct flame_request, sets),
	.check = check,
};

static int
make(struct report *report, const struct request *request, struct database *database)
{
	(void)database;
	return flame_report_make((void *)report, (const void *)request);
}

static int
write_file(const struct report *report)
{
	return flame_report_write((const void *)report);
}

static void
fini(struct report *report)
{
	flame_report_fini((void *)report);
}

static const struct tool tool = {
	.line = &line,
	.without_database = true,
	.make = make,
	.act = write_file,
	.fini = fini,
};

int
main(int argc, char **argv)
{
	struct flame_request request = {.demangle = true, .has_script = true, .least_percent = 0.1};
	struct flame_report report;
	int status;

	profile_sets_init(&request.sets);
	status = tool_run(&tool, &request, &report, argc, argv);
	profile_sets_fini(&request.sets);
	return status;
}
