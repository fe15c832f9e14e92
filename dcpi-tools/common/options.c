#include "dcpi-tools/common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define KEY_FIRST  0x100 /* of the row with index 0: above the letters, below the keys of shared options */
#define CHILDREN   5
#define OPTION_MAX 40 /* bytes of "--NAME" */

/* Long options without a letter, behind those of enum options_key; keys of a tool's rows are below both. */
enum output_key {
	KEY_JSON = OPTIONS_KEYS_END,
	KEY_COLOR,
	KEY_NO_PAGER,
	KEY_CSV,
	KEY_NO_HEADER,
};

void
options_init(struct options *options)
{
	const char *directory = getenv("DCPI_DB");

	memset(options, 0, sizeof(*options));
	options->directory = directory && *directory ? directory : PROFILE_DIRECTORY;
	options->header = true;
	options->pager = true;
	argp_err_exit_status = STATUS_USAGE;
}

void
options_fini(struct options *options)
{
	free(options->images);
}

void
options_add_image(void *member, char *text, struct argp_state *state)
{
	struct options *options = member;
	const char **images = reallocarray(options->images, options->image_count + 1, sizeof(*images));

	if (!images) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "--image");
		return;
	}
	options->images = images;
	options->images[options->image_count++] = text;
}

void
options_add_event(void *member, char *text, struct argp_state *state)
{
	struct shown_events_request *shown_events = member;

	if (shown_events->event_count == EVENTS_MAX)
		argp_error(state, "--event can be given %d times at most", EVENTS_MAX);
	shown_events->events[shown_events->event_count++] = text;
}

/* End the program. The text is escaped: a script may pass on what others wrote. */
static void
refuse(const struct argp_state *state, const char *option, const char *text, const char *expected)
{
	char *shown = text_shown(text);

	argp_error(state, "%s '%s' is not %s", option, shown ? shown : "?", expected);
	free(shown);
}

static void
parse_time(const struct argp_state *state, const char *option, const char *text, uint64_t *time_ns)
{
	if (time_parse(text, time_now(), time_ns) < 0)
		refuse(state, option, text, "a time; write " TIME_EXAMPLES);
	if (*time_ns == 0)
		*time_ns = 1; /* 0 means no bound */
}

static void
parse_color(const struct argp_state *state, const char *text, enum color_mode *mode)
{
	static const char *const names[] = {[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text ? text : "always", names[i]) == 0) {
			*mode = (enum color_mode)i;
			return;
		}
	refuse(state, "--color", text, "one of 'auto', 'always' and 'never'");
}

error_t
options_parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTIONS_DB:
		options->directory = text;
		return 0;
	case OPTIONS_EPOCH:
		options->request.epoch = text;
		return 0;
	case OPTIONS_SINCE:
		parse_time(state, "--since", text, &options->request.since_ns);
		return 0;
	case OPTIONS_UNTIL:
		parse_time(state, "--until", text, &options->request.until_ns);
		return 0;
	case OPTIONS_COMM:
		options->request.comm = text;
		return 0;
	case OPTIONS_CGROUP:
		options->request.cgroup = text;
		return 0;
	case OPTIONS_LABEL:
		options->request.label = text;
		return 0;
	case OPTIONS_HOST:
		options->request.host = text;
		return 0;
	case KEY_JSON:
		options->format = FORMAT_JSON;
		return 0;
	case KEY_COLOR:
		parse_color(state, text, &options->color);
		return 0;
	case KEY_NO_PAGER:
		options->pager = false;
		return 0;
	case KEY_CSV:
		options->format = FORMAT_CSV;
		return 0;
	case KEY_NO_HEADER:
		options->header = false;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* In groups 2 and 3, so that a tool can put a heading over each; its own options come first. */
const struct argp_option options_database_entries[] = {
	{"db", OPTIONS_DB, "DIR", 0, "Use the profile database in DIR (default: $DCPI_DB, else " PROFILE_DIRECTORY ")",
         2},
	{0},
};

const struct argp_option options_selection_entries[] = {
	{"epoch", OPTIONS_EPOCH, "EPOCH", 0, "latest, latest-N, all, a number or a label (default: latest)", 2},
	{"since", OPTIONS_SINCE, "TIME", 0, "Only what was sampled from TIME on: 10m (ago), 14:30, '2026-11-21 14:30'",
         2},
	{"until", OPTIONS_UNTIL, "TIME", 0, "Only what was sampled before TIME", 2},
	{"comm", OPTIONS_COMM, "NAME", 0, "Only commands whose name matches the pattern NAME", 2},
	{"cgroup", OPTIONS_CGROUP, "PATH", 0, "Only control groups at or below PATH, or matching the pattern", 2},
	{"label", OPTIONS_LABEL, "LABEL", 0, "Only processes that were given a label that matches the pattern LABEL",
         2},
	{"host", OPTIONS_HOST, "HOST", 0, "Only epochs of hosts whose name matches the pattern HOST", 2},
	{0},
};

static const struct argp_option output_entries[] = {
	{"json", KEY_JSON, NULL, 0, "Print JSON", 3},
	{"color", KEY_COLOR, "WHEN", OPTION_ARG_OPTIONAL, "Colour: auto (on a terminal), always or never", 3},
	{"no-pager", KEY_NO_PAGER, NULL, 0, "Do not page on a terminal", 3},
	{0},
};

static const struct argp_option table_entries[] = {
	{"csv", KEY_CSV, NULL, 0, "Print comma-separated values", 3},
	{"no-header", KEY_NO_HEADER, NULL, 0, "Print the rows only", 3},
	{0},
};

const struct argp options_database = {.options = options_database_entries, .parser = options_parse};
const struct argp options_selection = {.options = options_selection_entries, .parser = options_parse};
const struct argp options_output = {.options = output_entries, .parser = options_parse};
const struct argp options_table = {.options = table_entries, .parser = options_parse};

double
options_number(const struct argp_state *state, const char *option, const char *text, double least, double most)
{
	char expected[80], *end;
	double number;

	errno = 0;
	number = strtod(text, &end);
	if (!errno && end != text && !*end && number >= least && number <= most)
		return number;
	snprintf(expected, sizeof(expected), "a number from %g to %g", least, most);
	refuse(state, option, text, expected);
	return least;
}

uint64_t
options_whole(const struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most)
{
	char expected[80], *end;
	double number;

	errno = 0;
	number = strtod(text, &end); /* 1e6 is one, too */
	if (!errno && end != text && !*end && number >= (double)least && number <= (double)most &&
	    (double)(uint64_t)number == number)
		return (uint64_t)number;
	snprintf(expected, sizeof(expected), "a whole number from %" PRIu64 " to %" PRIu64, least, most);
	refuse(state, option, text, expected);
	return least;
}

size_t
options_count(const struct argp_state *state, const char *option, const char *text)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || end == text || *end || number < 1 || text[0] == '-')
		refuse(state, option, text, "a whole number from 1 on");
	return (size_t)number;
}

size_t
options_choice(const struct argp_state *state, const char *what, const char *text, const char *const *names,
               size_t count)
{
	const char *near;
	char *shown;

	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	near = suggest_name(text, names, count);
	shown = text_shown(text);
	argp_error(state, "there is no %s '%s'%s%s%s", what, shown ? shown : "?", near ? " (did you mean " : "",
	           near ? near : "", near ? "?)" : "");
	free(shown);
	return 0;
}

char **
options_program(struct argp_state *state)
{
	char **program = &state->argv[state->next - 1];

	state->next = state->argc;
	return program;
}

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
store_value(const struct option_row *row, void *member, char *text, struct argp_state *state)
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
	store_value(row, reading->request + row->offset, text, state);
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
