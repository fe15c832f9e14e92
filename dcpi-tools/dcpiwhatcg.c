/*
 * dcpiwhatcg - where all the cycles have gone
 *
 * Its options; what it shows is in dcpi-tools/whatcg/, and man/dcpiwhatcg.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/whatcg/report.h"

const char *argp_program_version = "dcpiwhatcg " DCPI_VERSION;

static void
take_stall(void *member, char *text, struct argp_state *state)
{
	struct whatcg_request *request = member;

	request->has_stall = true;
	if (!whatcg_row_find(text, &request->stall))
		argp_error(state, "--stall takes a row's name or a letter: %s", whatcg_row_names());
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTIONS_SURVEY(struct whatcg_request, survey),
	OPTION_TRUE(1, "by-image", 'i', struct whatcg_request, by_image, "Also of each image"),
	OPTION_TRUE(1, "by-procedure", 'p', struct whatcg_request, by_procedure, "Also of each procedure"),
	OPTION_CALL(1, "stall", 0, "REASON", 0, take_stall,
                    "Also the procedures that lost most for REASON: a row's name, or its letter"),
	OPTION_COUNT(1, "limit", "N", struct whatcg_request, limit, "At most N images, and N procedures (default: 10)"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct whatcg_request, cutoff_percent, 0, 100,
                      "Leave out images and procedures with less of all samples"),
	OPTION_NO_DEMANGLE(struct whatcg_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show where the cycles went: what procedures lost to which reason, added up.\v"
	       "Without options: the latest epoch, all images. See dcpiwhatcg(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct whatcg_request, survey.options),
};

TOOL_DEFINE(whatcg)

int
main(int argc, char **argv)
{
	struct whatcg_request request = {.demangle = true, .limit = 10};
	struct whatcg_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
