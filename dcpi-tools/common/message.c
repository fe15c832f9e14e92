#include "dcpi-tools/common/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "dcpi-tools/common/text.h"

#define FIRST_NS 500000000u
#define NEXT_NS  100000000u

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

void
progress_begin(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.is_terminal = isatty(STDERR_FILENO) == 1,
		.next_ns = monotonic_ns() + FIRST_NS,
	};
}

void
progress_show(struct progress *progress, uint64_t done, uint64_t all)
{
	uint64_t now;

	if (!progress->is_terminal || !all)
		return;
	now = monotonic_ns();
	if (now < progress->next_ns)
		return;
	fprintf(stderr, "\r%s: %3.0f%% %s", program_invocation_short_name, 100 * (double)done / (double)all,
	        progress->what);
	progress->next_ns = now + NEXT_NS;
	progress->is_shown = true;
}

void
progress_end(struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_shown = false;
}
