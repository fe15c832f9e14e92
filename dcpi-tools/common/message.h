/*
 * message.h - what a tool prints on standard error: error messages, and progress
 *
 * A message is one line: who, what, why, what to do. `subject` (a path, an option; NULL for none) comes from outside
 * and is escaped here.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MESSAGE_H
#define DCPI_TOOLS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* "dcpiprof: SUBJECT: SENTENCE" */
void message_print(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * "dcpiprof: SUBJECT: cannot ACTION: REASON (HINT)", with error_text() of `error` (negative) as the reason; `hint` may
 * be NULL. Returns the exit status that fits the error.
 */
int message_cannot(const char *subject, const char *action, int error, const char *hint);

/*
 * Progress of long work: a line that is printed only if standard error is a terminal and the work takes more than half
 * a second, and erased at the end.
 */
struct progress {
	const char *what; /* "of the samples analysed" */
	uint64_t next_ns; /* when a line is due; CLOCK_MONOTONIC */
	bool is_terminal, is_shown;
};

void progress_begin(struct progress *progress, const char *what);
void progress_show(struct progress *progress, uint64_t done, uint64_t all);
void progress_end(struct progress *progress);

#endif
