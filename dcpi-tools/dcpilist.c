/*
 * dcpilist - the source lines and instructions of a procedure, with their samples
 *
 * Its options; what it shows is in dcpi-tools/list/, and man/dcpilist.1.scd describes it.
 */
#include <stddef.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/list/report.h"

const char *argp_program_version = "dcpilist " DCPI_VERSION;

static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct list_request *request = member;

	procedure_options_argument(&request->procedure, &request->options, text, state);
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_PROCEDURE_IMAGE(struct list_request, options),
	OPTION_EVENT_COLUMNS(struct list_request, columns, "Only the column of this event"),
	OPTION_TRUE(1, "frequency", 0, struct list_request, frequency,
                    "And how often each ran, by the best source there is"),
	OPTION_TEXT(1, "cpu", "MODEL", struct list_request, cpu,
                    "The pipeline for that: a model's name, or its file (default: the epoch's)"),
	OPTION_ENUM(1, "source", 0, struct list_request, mode, LIST_SOURCE, "Only source lines"),
	OPTION_ENUM(1, "instructions", 0, struct list_request, mode, LIST_INSTRUCTIONS, "Only instructions"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct list_request, procedure.syntax, SYNTAX_HELP),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "PROCEDURE [IMAGE...]",
	.doc = "Show the source lines and instructions of a procedure, with their samples.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpilist(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct list_request, options),
	.argument_missing = PROCEDURE_MISSING,
};

TOOL_DEFINE(list)

int
main(int argc, char **argv)
{
	struct list_request request = {0};
	struct list_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
