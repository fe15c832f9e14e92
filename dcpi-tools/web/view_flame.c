/* Call stacks as a flame graph, or what two sets of them differ in: dcpiflame. */
#include <stdio.h>

#include "dcpi-tools/web/view.h"

static const struct view_field fields[] = {
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CUTOFF, "Leave out frames below %", "0.1", NULL},
	{QUERY_BEFORE, "Difference from label", "before.*", NULL},
	{QUERY_AFTER, "to label", "after.*", NULL},
	{0},
};

static size_t
flame_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	if (!query->values[QUERY_BEFORE] != !query->values[QUERY_AFTER]) {
		snprintf(why, size, "a difference is of two labels: name both, or neither");
		return 0;
	}
	command_begin(&commands[0], "dcpiflame", directory);
	command_word(&commands[0], "--no-script"); /* the page has it, as a file of its own */
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_field(&commands[0], query, QUERY_BEFORE);
	command_field(&commands[0], query, QUERY_AFTER);
	command_option(&commands[0], "least", query->values[QUERY_CUTOFF]);
	commands[0].is_svg = true;
	return 1;
}

static void
flame_render(const struct view_page *page)
{
	struct html *out = page->out;

	html(out, "<p>");
	view_link(page, &view_calls, NULL, 0, "As a tree");
	html(out, "</p>\n");
	view_picture(page, "flames", "Flame graph");
	html(out, "<script src=\"/flame.js\" defer></script>\n");
}

const struct view view_flame = {
	.path = "/flame",
	.title = "Flame graph",
	.about =
		"Call stacks, the outermost callers at the top; each procedure is as wide as its share of the samples. "
		"A click zooms, Escape goes back.",
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.fields = fields,
	.commands = flame_commands,
	.render = flame_render,
};
