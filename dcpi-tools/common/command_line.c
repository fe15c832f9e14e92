#include "dcpi-tools/common/command_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define KEY_FIRST  0x100 /* of the row with index 0: above the letters, and below the keys of shared options */
#define CHILDREN   5
#define OPTION_MAX 40 /* bytes of "--NAME" */

struct command_line_reading {
	const struct command_line *line;
	char *request; /* bytes: rows have offsets */
	void *inputs[CHILDREN];
	size_t child_count;
};

struct options *
command_line_options(const struct command_line *line, void *request)
{
	return (struct options *)(void *)((char *)request + line->options);
}

static const struct option_row *
find_row(const struct option_row *rows, int key)
{
	if (key >= KEY_FIRST)
		return &rows[key - KEY_FIRST];
	while (rows->kind != OPTION_KIND_END &&
	       (key == ARGP_KEY_ARG ? rows->kind != OPTION_KIND_ARGUMENT : rows->letter != key))
		rows++;
	return rows->kind == OPTION_KIND_END ? NULL : rows;
}

static void
put(const struct option_row *row, void *member, char *text, struct argp_state *state)
{
	char option[OPTION_MAX];

	snprintf(option, sizeof(option), "--%s", row->name ? row->name : "");
	switch (row->kind) {
	case OPTION_KIND_TRUE:
	case OPTION_KIND_FALSE:
		*(bool *)member = row->kind == OPTION_KIND_TRUE;
		return;
	case OPTION_KIND_ENUM:
		memcpy(member, &row->value, sizeof(row->value));
		return;
	case OPTION_KIND_TEXT:
		if (row->most > 0 && (!*text || strlen(text) > (size_t)row->most))
			argp_error(state, "%s takes 1 to %zu bytes", option, (size_t)row->most);
		*(const char **)member = text;
		return;
	case OPTION_KIND_DOUBLE:
		*(double *)member = options_number(state, option, text, row->least, row->most);
		return;
	case OPTION_KIND_COUNT:
		*(size_t *)member = options_count(state, option, text);
		return;
	case OPTION_KIND_CALL:
	case OPTION_KIND_ARGUMENT:
		row->take(member, text, state);
		return;
	case OPTION_KIND_END:
	case OPTION_KIND_HEADING:
		return; /* argp has no key for them */
	}
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	const struct command_line_reading *reading = state->input;
	const struct command_line *line = reading->line;
	const struct option_row *row;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; i < reading->child_count; i++)
			state->child_inputs[i] = reading->inputs[i];
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!line->argument_missing)
			return ARGP_ERR_UNKNOWN;
		argp_error(state, "%s", line->argument_missing);
		return 0;
	case ARGP_KEY_END:
		if (line->check)
			line->check(reading->request, state);
		return 0;
	case ARGP_KEY_ARG:
		break;
	default:
		if (key <= 0 || key >= OPTIONS_DB)
			return ARGP_ERR_UNKNOWN; /* another ARGP_KEY_... */
	}
	row = find_row(line->rows, key);
	if (!row)
		return ARGP_ERR_UNKNOWN;
	put(row, reading->request + row->offset, text, state);
	return 0;
}

/* The rows as argp takes them; NULL when memory ends. */
static struct argp_option *
make_entries(const struct option_row *rows)
{
	struct argp_option *entries, *entry;
	size_t count = 0;

	while (rows[count].kind != OPTION_KIND_END)
		count++;
	entries = calloc(count + 1, sizeof(*entries));
	if (!entries)
		return NULL;
	entry = entries;
	for (size_t i = 0; i < count; i++) {
		const struct option_row *row = &rows[i];

		if (row->kind == OPTION_KIND_ARGUMENT)
			continue;
		*entry++ = (struct argp_option){
			.name = row->name,
			.key = row->letter || !row->name ? row->letter : KEY_FIRST + (int)i,
			.arg = row->argument,
			.flags = row->help ? 0 : OPTION_HIDDEN,
			.doc = row->help,
			.group = row->group,
		};
	}
	return entries;
}

int
command_line_read(const struct command_line *line, void *request, int argc, char **argv)
{
	static const struct argp *const shared[] = {&options_database, &options_selection, &options_output,
	                                            &options_table};
	struct command_line_reading reading = {.line = line, .request = request};
	struct argp_child children[CHILDREN + 1] = {0};
	struct argp_option *entries = make_entries(line->rows);
	const struct argp argp = {
		.options = entries,
		.parser = parse_option,
		.args_doc = line->arguments,
		.doc = line->doc,
		.children = children,
	};
	error_t err = ENOMEM;

	text_init();
	options_init(command_line_options(line, request));
	if (line->child) {
		children[0].argp = line->child;
		reading.inputs[reading.child_count++] = reading.request + line->child_offset;
	}
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		if (!(line->shared & 1U << i))
			continue;
		children[reading.child_count].argp = shared[i];
		reading.inputs[reading.child_count++] = command_line_options(line, request);
	}
	if (entries)
		err = argp_parse(&argp, argc, argv, line->in_order ? ARGP_IN_ORDER : 0, NULL, &reading);
	free(entries);
	return err ? message_cannot(NULL, "read the command line", -err, NULL) : STATUS_OK;
}
