/*
 * dcpicat - a profile as text: the counts of each image, a line for each offset
 *
 * Its options; what it shows is in dcpi-tools/cat/, and man/dcpicat.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/cat/report.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpicat " DCPI_VERSION;

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_IMAGE(struct cat_request, options),
	OPTION_EVENT_COLUMNS(struct cat_request, columns, "Only the columns of this event"),
	OPTION_TRUE(1, "names", 0, struct cat_request, names, "The procedure that each offset is in, too"),
	OPTION_NO_DEMANGLE(struct cat_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_IMAGE_ARGUMENTS(struct cat_request, options),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Print the counts of a dcpi profile database, a line for each offset of each image.\v"
	       "The form is made for scripts and stays as it is. See dcpicat(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct cat_request, options),
};

TOOL_CSV_FUNCTION(cat)
TOOL_DEFINE(cat, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct cat_request request = {.demangle = true};
	struct cat_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
