#include "dcpi-tools/common/tool.h"

#include "base/error.h"
#include "dcpi-tools/common/message.h"

static int
print(const struct tool *tool, enum output_format format, const struct report *report, const struct output *output)
{
	switch (format) {
	case FORMAT_JSON:
		return tool->print_json(report, output->stream);
	case FORMAT_CSV:
		return tool->print_csv(report, output->stream);
	default:
		return tool->print_text(report, output);
	}
}

static int
present(const struct tool *tool, const struct options *options, const struct report *report)
{
	const bool is_text = options->format == FORMAT_TEXT;
	struct output output;
	int err, end;

	/* what is no text has neither colours nor a pager */
	output_open(&output, is_text ? options->color : COLOR_NEVER, is_text && options->pager);
	err = print(tool, options->format, report, &output);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return STATUS_OK;
}

static int
run(const struct tool *tool, const struct options *options, const struct request *request, struct report *report)
{
	struct database database = {0}, *opened = tool->without_database ? NULL : &database;
	int status = STATUS_OK;

	if (opened)
		status = database_open(opened, options->directory);
	if (status)
		return status;
	status = tool->make(report, request, opened);
	if (opened)
		database_close(opened); /* a pager may keep us for hours */
	if (!status) {
		const int acted = tool->act ? tool->act(report) : TOOL_PRINTS;

		status = acted == TOOL_PRINTS ? present(tool, options, report) : acted;
	}
	tool->fini(report);
	return status;
}

int
tool_run(const struct tool *tool, struct request *request, struct report *report, int argc, char **argv)
{
	struct options *options = command_line_options(tool->line, request);
	int status = command_line_read(tool->line, request, argc, argv);

	if (!status)
		status = run(tool, options, request, report);
	options_fini(options);
	return status;
}
