/*
 * tool.h - the steps of a tool that reads a database and reports: options, database, report, standard output
 *
 * A tool called NAME has a `struct NAME_request`, which holds the user's options, a `struct NAME_report`, which holds
 * what is printed, and functions NAME_report_make(), NAME_report_print_text() and so on. `struct request` and `struct
 * report` stand for any tool's here.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TOOL_H
#define DCPI_TOOLS_TOOL_H

#include <stdio.h>

#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"

struct request;
struct report;

struct tool {
	const struct command_line *line;
	bool without_database; /* make() gets no database: it opens those that it compares (profile_set.h) */
	/* An exit status: 0, or another after a message. The database is closed afterwards. */
	int (*make)(struct report *report, const struct request *request, struct database *database);
	/* Print in the format of the options; NULL: the tool has no such option. 0, or a negative errno. */
	int (*print_text)(const struct report *report, const struct output *output);
	int (*print_json)(const struct report *report, FILE *stream);
	int (*print_csv)(const struct report *report, FILE *stream);
	/* Called before printing, to do something else instead, or NULL. An exit status, or TOOL_PRINTS: print. */
	int (*act)(const struct report *report);
	void (*fini)(struct report *report); /* also of one that could not be made */
};

#define TOOL_PRINTS (-1)

/*
 * Define `tool`, the struct tool of the tool `name` whose command line is `line`; behind the name stand initializers of
 * the members that not every tool has.
 */
#define TOOL_DEFINE(name, ...)                                                                                         \
	static int tool_make(struct report *report, const struct request *request, struct database *database)          \
	{                                                                                                              \
		return name##_report_make((void *)report, (const void *)request, database);                            \
	}                                                                                                              \
	static int tool_print_text(const struct report *report, const struct output *output)                           \
	{                                                                                                              \
		return name##_report_print_text((const void *)report, output);                                         \
	}                                                                                                              \
	static int tool_print_json(const struct report *report, FILE *stream)                                          \
	{                                                                                                              \
		return name##_report_print_json((const void *)report, stream);                                         \
	}                                                                                                              \
	static void tool_fini(struct report *report)                                                                   \
	{                                                                                                              \
		name##_report_fini((void *)report);                                                                    \
	}                                                                                                              \
	static const struct tool tool = {.line = &line,                                                                \
	                                 .make = tool_make,                                                            \
	                                 .print_text = tool_print_text,                                                \
	                                 .print_json = tool_print_json,                                                \
	                                 .fini = tool_fini,                                                            \
	                                 __VA_ARGS__};

/* Before that, for a tool that has CSV: define tool_print_csv(), its .print_csv. */
#define TOOL_CSV_FUNCTION(name)                                                                                        \
	static int tool_print_csv(const struct report *report, FILE *stream)                                           \
	{                                                                                                              \
		return name##_report_print_csv((const void *)report, stream);                                          \
	}

/* For main(): its exit status. `request` and `report` are the tool's. */
int tool_run(const struct tool *tool, void *request, void *report, int argc, char **argv);

/* ---- tools with subcommands: "dcpimem objects" ---- */

struct subcommand {
	const char *name;
	char *title;                       /* what its own help calls it: "dcpimem objects" */
	int (*run)(int argc, char **argv); /* argv[0] is the title; the exit status */
};

struct subcommands {
	const char *tool;
	const char *arguments, *doc; /* of --help, as argp's args_doc and doc */
	const char *damage;          /* what a SIGBUS of a mapped file means: "the database is damaged" */
	const struct subcommand *commands;
	size_t count;
};

/* For main(): its exit status. */
int tool_run_subcommand(const struct subcommands *commands, int argc, char **argv);

/* ---- reports of a selection ---- */

/* The first choices of a report: a selection, events, and images. */
struct report_choice {
	struct selection *selection;
	struct shown_events shown_events;
	char **titles; /* of images */
	bool *wanted;  /* by image; NULL: all */
};

/* An exit status: 0, or another after a message. report_choice_fini() it in any case. */
int report_choose(struct report_choice *choice, struct database *database, const struct options *options,
                  const struct shown_events_request *shown_events);
/* Likewise, of a selection that was read already: the choice frees it, in any case. */
int report_choose_of(struct report_choice *choice, struct selection *selection, const struct database *database,
                     const struct options *options, const struct shown_events_request *shown_events);
void report_choice_fini(struct report_choice *choice); /* a zeroed one is allowed */

/* Print that it has no samples; the exit status. */
int report_choice_empty(const struct database *database);

#endif
