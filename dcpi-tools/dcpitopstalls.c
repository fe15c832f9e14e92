/*
 * dcpitopstalls - the instructions that lost most, and their culprits
 *
 * Its options; what it shows is in dcpi-tools/topstalls/, and man/dcpitopstalls.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/topstalls/report.h"

const char *argp_program_version = "dcpitopstalls " DCPI_VERSION;

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTIONS_SURVEY(struct topstalls_request, survey),
	OPTION_COUNT(1, "limit", "N", struct topstalls_request, limit, "At most N instructions (default: 20)"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct topstalls_request, cutoff_percent, 0, 100,
                      "Leave out instructions that lost less of all samples"),
	OPTION_TRUE(1, "source", 0, struct topstalls_request, source,
                    "Source lines, too, where there is debug information"),
	OPTION_NO_DEMANGLE(struct topstalls_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct topstalls_request, syntax, SYNTAX_HELP),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show the instructions that lost most time, for which reasons, and which others are to blame.\v"
	       "Without options: the latest epoch, all images. See dcpitopstalls(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct topstalls_request, survey.options),
};

TOOL_CSV_FUNCTION(topstalls)
TOOL_DEFINE(topstalls, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct topstalls_request request = {.demangle = true, .limit = 20};
	struct topstalls_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
