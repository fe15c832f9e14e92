/*
 * dcpiprof - where the samples fell, by procedure or by image
 *
 * Its options; what it shows is in dcpi-tools/prof/, and man/dcpiprof.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/prof/report.h"

const char *argp_program_version = "dcpiprof " DCPI_VERSION;

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_TRUE(1, "by-image", 'i', struct prof_request, by_image, "A row for each image, not each procedure"),
	OPTION_IMAGE(struct prof_request, options),
	OPTION_EVENT_COLUMNS(struct prof_request, columns, "Only the columns of this event"),
	OPTION_TEXT(1, "sort", "EVENT", struct prof_request, columns.sort, "Sort by this event"),
	OPTION_DOUBLE(1, "keep", "PERCENT", struct prof_request, keep_percent, 0, 100,
                      "Only the rows that PERCENT of the samples need"),
	OPTION_ROW_LIMIT(struct prof_request, limit),
	OPTION_NO_DEMANGLE(struct prof_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_IMAGE_ARGUMENTS(struct prof_request, options),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Show where the samples of a dcpi profile database fell, by procedure or by image.\v"
	       "Without options: the latest epoch, all images. See dcpiprof(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct prof_request, options),
};

TOOL_CSV_FUNCTION(prof)
TOOL_DEFINE(prof, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct prof_request request = {.demangle = true, .keep_percent = 100};
	struct prof_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
