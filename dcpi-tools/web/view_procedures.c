/* The table of dcpiprof. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/view.h"
#include "dcpi-tools/web/view_table.h"

static const struct view_field fields[] = {
	{QUERY_BY, "Rows", NULL, "procedure image"},
	{QUERY_IMAGE, "Image", "libc.so.6, /usr/bin/*", NULL},
	{QUERY_EVENT, "Only event", "cycles", NULL},
	{QUERY_SORT, "Sort by event", "cache-misses", NULL},
	{QUERY_LIMIT, "Rows at most", VIEW_PROCEDURES_LIMIT, NULL},
	{0},
};

static size_t
procedures_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why,
                    size_t size)
{
	const char *by = query->values[QUERY_BY], *limit = query->values[QUERY_LIMIT];

	(void)why;
	(void)size;
	command_begin(&commands[0], "dcpiprof", directory);
	if (by && strcmp(by, "image") == 0)
		command_word(&commands[0], "--by-image");
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_field(&commands[0], query, QUERY_SORT);
	command_option(&commands[0], "limit", limit ? limit : VIEW_PROCEDURES_LIMIT);
	return 1;
}

static void
procedures_render(const struct view_page *page)
{
	const json_t *report = page->reports[0].json;

	view_samples_summary(page, report);
	view_table_of_procedures(page, report, "Samples by procedure, the hottest first", 0);
}

const struct view view_procedures = {
	.path = "/procedures",
	.title = "Procedures",
	.about = "Where the samples fell: each procedure, or each image, with its share.",
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.fields = fields,
	.commands = procedures_commands,
	.render = procedures_render,
};
