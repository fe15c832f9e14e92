/* The flow graph of a procedure, as dcpicalc --graph draws it. As text, dcpicalc has its blocks and instructions. */
#include "dcpi-tools/web/view.h"
#include "dcpi-tools/web/view_calc.h"

#define CUTOFF_DEFAULT "1" /* percent: a picture of a thousand blocks shows nothing */

enum graph_report { REPORT_GRAPH, REPORT_LISTING, REPORT_COUNT };

static const struct view_field fields[] = {
	{QUERY_PROCEDURE, "Procedure", "inflate_fast, 0x1139", NULL},
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_CUTOFF, "Leave out blocks below %", CUTOFF_DEFAULT, NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CPU, "CPU model", "intel-skylake", NULL},
	{0},
};

static size_t
graph_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const char *cutoff = query->values[QUERY_CUTOFF];

	for (size_t i = 0; i < REPORT_COUNT; i++) {
		if (!view_calc_command(query, directory, "dcpicalc", &commands[i], cutoff ? cutoff : CUTOFF_DEFAULT,
		                       why, size))
			return 0;
		if (i == REPORT_GRAPH)
			command_option(&commands[i], "graph", "-");
		view_calc_arguments(query, &commands[i]);
	}
	commands[REPORT_GRAPH].is_svg = true;
	commands[REPORT_GRAPH].title = "Flow graph";
	commands[REPORT_LISTING].need = COMMAND_LINKED;
	commands[REPORT_LISTING].title = "Instructions";
	return REPORT_COUNT;
}

static void
graph_render(const struct view_page *page)
{
	const struct query_change changes[] = {{QUERY_PROCEDURE, page->query->values[QUERY_PROCEDURE]},
	                                       {QUERY_IMAGE, page->query->values[QUERY_IMAGE]}};
	struct html *out = page->out;

	html(out, "<p>");
	view_link(page, &view_calc, changes, 2, "Its instructions, as a table");
	html(out, "</p>\n");
	view_picture(page, "graph", "Flow graph");
}

const struct view view_graph = {
	.path = "/graph",
	.title = "Flow graph",
	.keeps = QUERY_SELECTION | QUERY_KEEPS(QUERY_EVENT),
	.is_hidden = true,
	.has_selection = true,
	.fields = fields,
	.commands = graph_commands,
	.render = graph_render,
};
