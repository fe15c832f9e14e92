#include "dcpi-tools/common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/time_text.h"

/* Long options without a letter; a tool's own keys stay below. */
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
	struct columns_request *columns = member;

	if (columns->event_count == EVENTS_MAX)
		argp_error(state, "--event can be given %d times at most", EVENTS_MAX);
	columns->events[columns->event_count++] = text;
}

/* Ends the program. What the user gave is escaped: it may come from elsewhere through a script. */
static void
refuse(const struct argp_state *state, const char *option, const char *text, const char *expected)
{
	char *shown = text_shown(text);

	argp_error(state, "%s '%s' is not %s", option, shown ? shown : "?", expected);
	free(shown);
}

static void
take_time(const struct argp_state *state, const char *option, const char *text, uint64_t *time_ns)
{
	if (time_parse(text, time_now(), time_ns) < 0)
		refuse(state, option, text, "a time; write " TIME_EXAMPLES);
	if (*time_ns == 0)
		*time_ns = 1; /* 0 means no bound */
}

static void
take_color(const struct argp_state *state, const char *text, enum color_mode *mode)
{
	if (!text || strcmp(text, "always") == 0)
		*mode = COLOR_ALWAYS;
	else if (strcmp(text, "auto") == 0)
		*mode = COLOR_AUTO;
	else if (strcmp(text, "never") == 0)
		*mode = COLOR_NEVER;
	else
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
		take_time(state, "--since", text, &options->request.since_ns);
		return 0;
	case OPTIONS_UNTIL:
		take_time(state, "--until", text, &options->request.until_ns);
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
		take_color(state, text, &options->color);
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

/* Groups 2 and 3, so that a tool can put a heading over each; its own options come first. */
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

const char *
options_label(const struct argp_state *state, const char *text, size_t max)
{
	if (!*text || strlen(text) > max)
		argp_error(state, "--label takes 1 to %zu bytes", max);
	return text;
}

char **
options_program(struct argp_state *state)
{
	char **program = &state->argv[state->next - 1];

	state->next = state->argc;
	return program;
}
