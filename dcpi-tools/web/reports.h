/*
 * reports.h - reports that the tools make, for several clients at once
 *
 * A report is what a tool prints for one command line. Equal command lines that are asked for at the same time run
 * once. At most so many tools run at a time; further ones wait - those that a page needs before those that it shows if
 * they are there (enum command_need) - and when too many wait, they are refused. A tool that takes too long or prints
 * too much is killed.
 *
 * A report is kept for ten minutes while the database's file is unchanged; for one minute if its command line has a
 * time that is relative to the present. When dcpid has written to the database, it may be given again for ten times as
 * long as it took to make, for ten seconds at least and a minute at most: so reports cost a tenth of a CPU at most for
 * each command line, however often pages are read. Failures are kept for two seconds. Thread rule: one thread, that of
 * the event loop.
 */
#ifndef DCPI_TOOLS_WEB_REPORTS_H
#define DCPI_TOOLS_WEB_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "dcpi-tools/web/command.h"

struct report {
	int status;     /* the tool's exit status; -errno: it did not run, or did not end by itself */
	char *output;   /* what it printed, and a NUL */
	size_t size;    /* without the NUL */
	char *errors;   /* sentences on standard error, and ours; "" for none. Not escaped */
	uint64_t at_ns; /* since 1970: when it was asked for */
	/* private */
	unsigned references;
};

struct reports;
struct reports_job;

struct reports_options {
	struct event_base *base;
	const char *database; /* its directory; borrowed */
	const char *tools;    /* the directory of the tools; borrowed */
	unsigned at_once;     /* tools that run at a time */
};

/* NULL and errno. */
struct reports *reports_new(const struct reports_options *options);
void reports_free(struct reports *reports); /* kills what runs; NULL is allowed */

/* A wait for a report: lives in its client until `done` was called or reports_cancel(). */
struct reports_wait {
	void (*done)(void *context, struct report *report); /* the report is the callee's, to report_release() */
	void *context;
	/* private */
	struct reports_job *job;
	TAILQ_ENTRY(reports_wait) next;
};

/* Ask for a report; `done` may be called at once. The command is copied. */
void reports_ask(struct reports *reports, const struct tool_command *command, struct reports_wait *wait);
void reports_cancel(struct reports_wait *wait); /* also of a zeroed one, and of one that is done */

struct report *report_share(struct report *report); /* one more reference, of the same report */
void report_release(struct report *report);         /* NULL is allowed */

#endif
