/*
 * dcpiexport - a profile in the formats of other tools
 *
 * Its options; what it writes is in dcpi-tools/export/, and man/dcpiexport.1.scd describes it.
 */
#include <stddef.h>
#include <string.h>

#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/export/report.h"

const char *argp_program_version = "dcpiexport " DCPI_VERSION;

/* What does not go together. */
static void
check(void *checked, struct argp_state *state)
{
	const struct export_request *request = checked;
	const bool is_json = request->options.format == FORMAT_JSON;
	unsigned files = 0, outputs = 0;

	for (unsigned form = 0; form < EXPORT_FORMS; form++) {
		files += request->paths[form] != NULL;
		outputs += request->paths[form] && strcmp(request->paths[form], "-") == 0;
	}
	if (files == 0)
		argp_error(state, "in which format? --pprof FILE, --folded FILE or --callgrind FILE");
	if (outputs + is_json > 1)
		argp_error(state, "standard output takes one thing only");
	if (request->paths[EXPORT_FOLDED] && request->shown_events.event_count > 1)
		argp_error(state, "--folded has room for one event: name one --event");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is written (a FILE of - is standard output):"),
	OPTION_TEXT(1, "pprof", "FILE", struct export_request, paths[EXPORT_PPROF],
                    "For 'go tool pprof' and what else reads profile.proto, compressed"),
	OPTION_TEXT(1, "folded", "FILE", struct export_request, paths[EXPORT_FOLDED],
                    "For flame graphs: a line IMAGE;PROCEDURE SAMPLES for each procedure, or for each stack"),
	OPTION_TEXT(1, "callgrind", "FILE", struct export_request, paths[EXPORT_CALLGRIND],
                    "For callgrind_annotate and kcachegrind"),
	OPTION_TRUE(1, "stacks", 0, struct export_request, options.request.stacks,
                    "Write call stacks, of the samples that have one"),
	OPTION_IMAGE(struct export_request, options),
	OPTION_SHOWN_EVENTS(struct export_request, shown_events, "Only this event"),
	OPTION_NO_INLINE(struct export_request, no_inline),
	OPTION_FALSE(1, "no-lines", struct export_request, lines, "Do not look for source lines"),
	OPTION_NO_DEMANGLE(struct export_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "What is said of it:"),
	OPTION_ENUM(3, "json", 0, struct export_request, options.format, FORMAT_JSON, "Print as JSON what was written"),
	OPTION_IMAGE_ARGUMENTS(struct export_request, options),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Write a profile in the formats of other tools.\v"
	       "Without options: the latest epoch, all images. See dcpiexport(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION,
	.options = offsetof(struct export_request, options),
	.check = check,
};

static int
make(struct report *report, const struct request *request, struct database *database)
{
	return export_report_make((void *)report, (const void *)request, database);
}

static int
print_json(const struct report *report, FILE *stream)
{
	return export_report_print_json((const void *)report, stream);
}

static int
write_files(const struct report *report)
{
	return export_report_write((const void *)report);
}

static void
fini(struct report *report)
{
	export_report_fini((void *)report);
}

static const struct tool tool = {
	.line = &line,
	.make = make,
	.print_json = print_json,
	.act = write_files,
	.fini = fini,
};

int
main(int argc, char **argv)
{
	struct export_request request = {.demangle = true, .lines = true};
	struct export_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
