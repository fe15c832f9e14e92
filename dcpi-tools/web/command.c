#include "dcpi-tools/web/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
command_begin(struct tool_command *command, const char *tool, const char *directory)
{
	memset(command, 0, sizeof(*command));
	command_word(command, tool);
	command_option(command, "db", directory);
}

void
command_fini(struct tool_command *command)
{
	for (size_t i = 0; i < command->count; i++)
		free(command->words[i]);
	memset(command, 0, sizeof(*command));
}

/* Append a word that is ours to free; NULL: memory ended. */
static void
add_word(struct tool_command *command, char *word)
{
	if (word && command->count < COMMAND_WORDS_MAX) {
		command->words[command->count++] = word;
		return;
	}
	command->failed = true;
	free(word);
}

void
command_word(struct tool_command *command, const char *word)
{
	add_word(command, strdup(word));
}

/* "@1795271400" and "2026-11-21 14:30" are; "2h" and "14:30" are not. */
static bool
is_absolute_time(const char *value)
{
	return value[0] == '@' || (strspn(value, "0123456789") == 4 && value[4] == '-');
}

void
command_option(struct tool_command *command, const char *name, const char *value)
{
	char *word = NULL;

	if (!value)
		return;
	if ((strcmp(name, "since") == 0 || strcmp(name, "until") == 0) && !is_absolute_time(value))
		command->is_relative = true;
	if (asprintf(&word, "--%s=%s", name, value) < 0)
		word = NULL;
	add_word(command, word);
}

void
command_field(struct tool_command *command, const struct query *query, enum query_field field)
{
	command_option(command, query_field_name(field), query->values[field]);
}

void
command_selection(struct tool_command *command, const struct query *query)
{
	for (unsigned field = QUERY_EPOCH; field <= QUERY_HOST; field++)
		command_field(command, query, (enum query_field)field);
}

/* What selects a side. */
static const struct side_option {
	enum query_field field;    /* of one set, which has the option's name */
	enum query_field sides[2]; /* before, after */
} side_options[] = {
	{QUERY_EPOCH, {QUERY_BEFORE_EPOCH, QUERY_AFTER_EPOCH}}, {QUERY_LABEL, {QUERY_BEFORE, QUERY_AFTER}},
	{QUERY_SINCE, {QUERY_BEFORE_SINCE, QUERY_AFTER_SINCE}}, {QUERY_UNTIL, {QUERY_BEFORE_UNTIL, QUERY_AFTER_UNTIL}},
	{QUERY_COMM, {QUERY_BEFORE_COMM, QUERY_AFTER_COMM}},    {QUERY_HOST, {QUERY_BEFORE_HOST, QUERY_AFTER_HOST}},
};
#define SIDE_OPTIONS (sizeof(side_options) / sizeof(side_options[0]))

int
command_sides(struct tool_command *command, const struct query *query, char *why, size_t size)
{
	size_t given[2] = {0, 0};

	for (size_t i = 0; i < SIDE_OPTIONS; i++)
		for (unsigned side = 0; side < 2; side++)
			given[side] += query->values[side_options[i].sides[side]] != NULL;
	if (given[0] == 0 && given[1] == 0)
		return 0;
	if (given[0] == 0 || given[1] == 0) {
		snprintf(why, size,
		         "a comparison needs two sets: say for before and for after a label, a time, an epoch, "
		         "a command or a host");
		return -1;
	}
	if (given[0] == 1 && given[1] == 1 && query->values[QUERY_BEFORE] && query->values[QUERY_AFTER] &&
	    !query->values[QUERY_LABEL]) { /* a label that all have goes with sets only */
		command_field(command, query, QUERY_BEFORE);
		command_field(command, query, QUERY_AFTER);
		return 1;
	}
	for (unsigned side = 0; side < 2; side++) {
		command_word(command, "--set");
		for (size_t i = 0; i < SIDE_OPTIONS; i++)
			command_option(command, query_field_name(side_options[i].field),
			               query->values[side_options[i].sides[side]]);
	}
	return 1;
}

struct query
command_side(const struct query *query, unsigned side)
{
	struct query selected = *query;

	for (size_t i = 0; i < SIDE_OPTIONS; i++)
		if (query->values[side_options[i].sides[side]])
			selected.values[side_options[i].field] = query->values[side_options[i].sides[side]];
	return selected;
}

void
command_set_json(struct tool_command *command)
{
	command_word(command, "--json");
	if (command->failed)
		return;
	for (size_t i = command->count - 1; i > 1; i--) {
		char *word = command->words[i];

		command->words[i] = command->words[i - 1];
		command->words[i - 1] = word;
	}
}

/* Does a shell take the word as it is? */
static bool
is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:@%,";

	return *word && word[strspn(word, plain)] == '\0';
}

void
command_show(const struct tool_command *command, struct html *out)
{
	for (size_t i = 0; i < command->count; i++) {
		const char *word = command->words[i];
		const char *quote;

		html(out, i ? " " : "");
		if (is_plain(word)) {
			html_text(out, word);
			continue;
		}
		html(out, "&#39;");
		for (; (quote = strchr(word, '\'')); word = quote + 1) {
			char *part = strndup(word, (size_t)(quote - word));

			html_text(out, part ? part : "");
			html(out, "&#39;\\&#39;&#39;");
			free(part);
		}
		html_text(out, word);
		html(out, "&#39;");
	}
}
