/*
 * command.h - the command line of a tool: what makes a report, and what a page shows as the way to print it
 *
 * Every value from outside is a part of one word, behind "--option=" or behind "--": it can be no option of its own.
 * Thread rule: one thread per struct.
 */
#ifndef DCPI_TOOLS_WEB_COMMAND_H
#define DCPI_TOOLS_WEB_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "dcpi-tools/web/html.h"
#include "dcpi-tools/web/query.h"

#define COMMAND_WORDS_MAX 40

/* What a report depends on, and so how long it may be shown again. */
enum command_source {
	COMMAND_DATABASE, /* on what the database holds */
	COMMAND_LIVE,     /* on a running dcpid */
	COMMAND_MACHINE,  /* on the machine, which changes rarely */
};

/* How a page needs a report. */
enum command_need {
	COMMAND_NEEDED,
	COMMAND_WANTED,   /* the page waits for a moment, is shown without it, and reads itself again */
	COMMAND_IF_THERE, /* the page does not wait: a later one has it */
	COMMAND_LINKED,   /* the page has only a link to it: what it draws, as text and JSON */
};

struct tool_command {
	char *words[COMMAND_WORDS_MAX + 1]; /* of the program; the last is NULL */
	size_t count;
	bool failed; /* memory ended, or too many words */
	enum command_source source;
	bool is_relative; /* "since an hour ago": its report is another one a minute later */
	enum command_need need;
	bool is_svg;       /* prints a picture, neither text nor JSON */
	const char *title; /* what it shows, where a page shows several */
};

/* Begin with the program `tool` and the database in `directory`; NULL: the tool's default. */
void command_begin(struct tool_command *command, const char *tool, const char *directory);
void command_fini(struct tool_command *command); /* a zeroed one is allowed */

void command_word(struct tool_command *command, const char *word);

/* "--name=value"; nothing if value is NULL. */
void command_option(struct tool_command *command, const char *name, const char *value);

/* The option that has the field's name, if the query has the field. */
void command_field(struct tool_command *command, const struct query *query, enum query_field field);

/* --epoch, --since and so on. */
void command_selection(struct tool_command *command, const struct query *query);

/*
 * The two sets of a comparison, of the fields before, before_since and so on: 1; 0 when neither is named, or -1, with a
 * sentence, when one is. Sides that are patterns of labels alone become --before and --after: each label is a run then,
 * and the tool knows the noise between runs.
 */
int command_sides(struct tool_command *command, const struct query *query, char *why, size_t size);

/* The query that selects one set of it: 0, before; 1, after. Its values are those of `query`. */
struct query command_side(const struct query *query, unsigned side);

/* Insert --json before all arguments that are no options. */
void command_set_json(struct tool_command *command);

/* The command line as one types it into a shell, quoted. */
void command_show(const struct tool_command *command, struct html *out);

#endif
