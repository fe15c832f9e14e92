#include "dcpi-tools/common/progress.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_NS 500000000u
#define NEXT_NS  100000000u

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
