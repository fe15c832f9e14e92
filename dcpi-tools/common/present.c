#include "dcpi-tools/common/present.h"

#include "base/error.h"
#include "dcpi-tools/common/message.h"

int
present(const struct options *options, report_printer *print, const void *report)
{
	const bool is_text = options->format == FORMAT_TEXT;
	struct output output;
	int err, end;

	output_open(&output, is_text ? options->color : COLOR_NEVER, is_text && options->pager);
	err = print(report, &output);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return STATUS_OK;
}
