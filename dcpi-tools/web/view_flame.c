/* Call stacks as a flame graph, or what two sets of them differ in: dcpiflame. As text, dcpiprof has the same tree. */
#include "dcpi-tools/web/view.h"

static const struct view_field fields[] = {
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CUTOFF, "Leave out frames below %", "0.1", NULL},
	{0},
};

#define LEAST_DEFAULT "0.1" /* percent */

/* The tools have defaults of their own: picture and tree are to show the same. */
static const char *
least_of(const struct query *query)
{
	const char *least = query->values[QUERY_CUTOFF];

	return least ? least : LEAST_DEFAULT;
}

/* What the picture shows of the query's samples, as a tree. */
static void
tree_command(const struct query *query, const char *directory, const char *title, struct tool_command *command)
{
	command_begin(command, "dcpiprof", directory);
	command_word(command, "--tree");
	command_selection(command, query);
	command_field(command, query, QUERY_IMAGE);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "least", least_of(query));
	command->title = title;
	command->need = COMMAND_LINKED;
}

static size_t
flame_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const struct query before = command_side(query, 0), after = command_side(query, 1);
	int sides;

	command_begin(&commands[0], "dcpiflame", directory);
	command_word(&commands[0], "--no-script"); /* the page has it, as a file of its own */
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_option(&commands[0], "least", least_of(query));
	commands[0].is_svg = true;
	commands[0].title = "Flame graph";
	sides = command_sides(&commands[0], query, why, size);
	if (sides < 0) {
		command_fini(&commands[0]);
		return 0;
	}
	if (sides == 0) {
		tree_command(query, directory, "Call tree", &commands[1]);
		return 2;
	}
	tree_command(&before, directory, "Call tree before", &commands[1]);
	tree_command(&after, directory, "Call tree after", &commands[2]);
	return 3;
}

static void
flame_render(const struct view_page *page)
{
	const struct query_change event = {QUERY_EVENT, page->query->values[QUERY_EVENT]};
	struct html *out = page->out;

	html(out, "<p>");
	view_link(page, &view_calls, &event, 1, "As a tree");
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
