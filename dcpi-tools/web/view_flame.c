/* Call stacks as a flame graph, or what two sets of them differ in: dcpiflame. */
#include "dcpi-tools/web/view.h"

static const struct view_field fields[] = {
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CUTOFF, "Leave out frames below %", "0.1", NULL},
	{0},
};

static size_t
flame_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	command_begin(&commands[0], "dcpiflame", directory);
	command_word(&commands[0], "--no-script"); /* the page has it, as a file of its own */
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_option(&commands[0], "least", query->values[QUERY_CUTOFF]);
	commands[0].is_svg = true;
	if (command_sides(&commands[0], query, why, size) >= 0)
		return 1;
	command_fini(&commands[0]);
	return 0;
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
		"A click zooms, Escape goes back. Of two sets, what grew is red, and what shrank blue.",
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.has_sides = true,
	.fields = fields,
	.commands = flame_commands,
	.render = flame_render,
};
