/*
 * progress.h - how far a long piece of work has come, on a terminal
 *
 * Standard error, and only if that is a terminal and the work takes more than half a second; the line is wiped out at
 * the end. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROGRESS_H
#define DCPI_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "of the samples analysed" */
	uint64_t next_ns; /* when a line is due; CLOCK_MONOTONIC */
	bool is_terminal, is_shown;
};

void progress_begin(struct progress *progress, const char *what);
void progress_show(struct progress *progress, uint64_t done, uint64_t all);
void progress_end(struct progress *progress);

#endif
