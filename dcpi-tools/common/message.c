#include "dcpi-tools/common/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/text.h"

static void
print_prefix(const char *subject)
{
	char *shown;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	if (!subject)
		return;
	shown = text_shown(subject);
	fprintf(stderr, "%s: ", shown ? shown : "?");
	free(shown);
}

void
message_print(const char *subject, const char *format, ...)
{
	va_list arguments;

	print_prefix(subject);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

int
message_cannot(const char *subject, const char *action, int error, const char *hint)
{
	print_prefix(subject);
	fprintf(stderr, "cannot %s: %s", action, error_text(error));
	if (hint)
		fprintf(stderr, " (%s)", hint);
	fputc('\n', stderr);
	return error_exit_status(error);
}
