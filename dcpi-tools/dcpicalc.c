/*
 * dcpicalc - the cycles of a procedure, instruction by instruction, and what they were lost for
 *
 * Its options; what it shows is in dcpi-tools/calc/, and man/dcpicalc.1.scd describes it.
 */
#include <stddef.h>
#include <string.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpicalc " DCPI_VERSION;

static void
parse_from(void *member, char *text, struct argp_state *state)
{
	static const char *const names[] = {
		[FROM_EXACT] = "exact",   [FROM_BRANCHES] = "branches", [FROM_INSTRUCTIONS] = "instructions",
		[FROM_BURSTS] = "bursts", [FROM_SAMPLES] = "samples",
	};

	for (size_t i = FROM_EXACT; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			*(enum calc_frequency_source *)member = (enum calc_frequency_source)i;
			return;
		}
	argp_error(state, "--from takes exact, branches, instructions, bursts or samples");
}

static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct calc_request *request = member;

	procedure_options_argument(&request->procedure, &request->options, text, state);
}

static void
check(void *checked, struct argp_state *state)
{
	const struct calc_request *request = checked;

	if (request->check && request->from == FROM_EXACT)
		argp_error(state, "--check compares with the exact counts: --from another source");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_PROCEDURE_IMAGE(struct calc_request, options),
	OPTION_TIME_EVENT(struct calc_request, event),
	OPTION_CPU(struct calc_request, cpu),
	OPTION_CALL(1, "from", 0, "SOURCE", offsetof(struct calc_request, from), parse_from,
                    "Frequencies from exact counts, branches, instructions, bursts or samples (default: the best there "
                    "is)"),
	OPTION_TRUE(1, "summary", 0, struct calc_request, summary, "Only where the cycles went, no instructions"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct calc_request, cutoff_percent, 0, 100,
                      "Leave out blocks with less of the procedure's time"),
	OPTION_TRUE(1, "check", 0, struct calc_request, check,
                    "Compare the estimated executions with those that dcpix or dcpiemu counted"),
	OPTION_TEXT(1, "graph", "FILE", struct calc_request, graph,
                    "Draw the flow graph into FILE (.svg, .png, .pdf or .dot) instead"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct calc_request, procedure.syntax, SYNTAX_HELP),
	OPTION_TRUE(3, "legend", 0, struct calc_request, legend, "Explain letters and words below"),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "PROCEDURE [IMAGE...]",
	.doc = "Show the cycles of a procedure, instruction by instruction, and what they were lost for.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpicalc(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct calc_request, options),
	.argument_missing = PROCEDURE_MISSING,
	.check = check,
};

static int
draw(const struct report *report)
{
	const struct calc_report *drawn = (const void *)report;

	return drawn->request->graph ? calc_report_draw(drawn) : TOOL_PRINTS;
}

TOOL_DEFINE(calc, .act = draw)

int
main(int argc, char **argv)
{
	struct calc_request request = {0};
	struct calc_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
