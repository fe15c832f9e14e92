/*
 * tool.h - the way of a tool that reads a database and reports: options, database, report, standard output
 *
 * Each such tool has a `struct request`, what the user asked for, and a `struct report`, what is shown, of its own.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOOL_H
#define DCPI_TOOLS_TOOL_H

#include <stdio.h>

#include "dcpi-tools/common/command_line.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"

struct request;
struct report;

struct tool {
	const struct command_line *line;
	bool without_database; /* make() is given none: it opens what it compares (profile_set.h) */
	/* An exit status: 0, or another after a message. The database is closed behind it. */
	int (*make)(struct report *report, const struct request *request, struct database *database);
	/* By the format that the options have; NULL: the tool offers no such option. 0, or a negative errno. */
	int (*print_text)(const struct report *report, const struct output *output);
	int (*print_json)(const struct report *report, FILE *stream);
	int (*print_csv)(const struct report *report, FILE *stream);
	/* Instead of them, something else than printing; NULL: there is nothing. An exit status, or TOOL_PRINTS. */
	int (*act)(const struct report *report);
	void (*fini)(struct report *report); /* also of one that could not be made */
};

#define TOOL_PRINTS (-1)

/* For main(): its exit status. */
int tool_run(const struct tool *tool, struct request *request, struct report *report, int argc, char **argv);

#endif
