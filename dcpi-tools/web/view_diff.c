/* Two sets of samples, compared: dcpidiff. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/view.h"

#define ROWS_DEFAULT "50"

static const struct view_field fields[] = {
	{QUERY_COMM, "Command", "postgres", NULL},
	{QUERY_CGROUP, "Cgroup", "/system.slice", NULL},
	{QUERY_HOST, "Host", "web*", NULL},
	{QUERY_IMAGE, "Image", "libc.so.6", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_LIMIT, "Rows at most", ROWS_DEFAULT, NULL},
	{0},
};

static size_t
diff_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const char *limit = query->values[QUERY_LIMIT];
	struct tool_command *command = &commands[0];
	int sides;

	command_begin(command, "dcpidiff", directory);
	command_field(command, query, QUERY_COMM);
	command_field(command, query, QUERY_CGROUP);
	command_field(command, query, QUERY_HOST);
	command_field(command, query, QUERY_IMAGE);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "limit", limit ? limit : ROWS_DEFAULT);
	sides = command_sides(command, query, why, size);
	if (sides < 0) {
		command_fini(command);
		return 0;
	}
	if (sides == 0) { /* what the newest change of rates, restart or `dcpictl epoch` separates */
		command_option(command, "epoch", "latest-1");
		command_option(command, "epoch", "latest");
	}
	return 1;
}

static void
render_set(struct html *out, const json_t *report, const char *side)
{
	const json_t *set = json_object_get(report, side);

	html(out, "<li>");
	html_text(out, side);
	html(out, ": <strong>");
	html_text(out, view_text(set, "set"));
	html(out, "</strong>, ");
	html_text(out, view_text(set, "start"));
	html(out, " to ");
	html_text(out, view_text(set, "end"));
	html(out, ", ");
	html_count(out, (uint64_t)fmax(view_number(set, "samples"), 0));
	html(out, " samples");
	if (view_number(set, "runs") > 1) {
		html(out, ", ");
		html_count(out, (uint64_t)view_number(set, "runs"));
		html(out, " runs");
	}
	html(out, "</li>\n");
}

static void
render_percent(struct html *out, const char *class, double value, bool is_signed)
{
	html(out, "<td");
	html_attribute(out, "class", class);
	html(out, ">");
	if (is_signed && value > 0)
		html(out, "+");
	html_real(out, value, 2);
	html(out, "</td>");
}

/* The procedure, as a link into the set that has samples of it: the one after, if both have. */
static void
render_procedure(const struct view_page *page, const char *procedure, const char *image, bool is_after)
{
	static char before_last[] = "latest-1";
	struct query links = command_side(page->links, is_after); /* its values stay those of the page */
	struct view_page linking = *page;

	if (!is_after && view_is_unselected(&links))
		links.values[QUERY_EPOCH] = before_last;
	linking.links = &links;
	view_procedure_link(&linking, procedure, image, page->query->values[QUERY_EVENT]);
}

static void
render_row(const struct view_page *page, const json_t *row)
{
	const json_t *before = json_object_get(row, "before"), *after = json_object_get(row, "after");
	const double difference = view_number(row, "difference");
	const bool differs = json_is_true(json_object_get(row, "differs"));
	const char *image = view_text(after, "image");
	struct html *out = page->out;

	if (!image[0])
		image = view_text(before, "image");
	html(out, differs ? "<tr class=\"marked\">" : "<tr>");
	render_percent(out, "number", view_number(before, "percent"), false);
	render_percent(out, "number", view_number(after, "percent"), false);
	render_percent(out, !differs ? "number" : difference > 0 ? "number grew" : "number shrank", difference, true);
	html(out, "<td>");
	html(out, differs ? "<abbr title=\"differs by more than sampling explains\">*</abbr>" : "");
	html(out, "</td>");
	render_percent(out, "number wide", view_number(row, "least"), true);
	render_percent(out, "number wide", view_number(row, "most"), true);
	html(out, "<td class=\"number\">");
	if (view_number(before, "percent") <= 0) {
		html(out, "appeared");
	} else if (view_number(after, "percent") <= 0) {
		html(out, "vanished");
	} else if (view_has(row, "times")) {
		html(out, "x");
		html_real(out, view_number(row, "times"), 2);
	}
	html(out, "</td><th scope=\"row\" class=\"name\">");
	render_procedure(page, view_text(row, "procedure"), image, view_number(after, "percent") > 0);
	html(out, "</th><td class=\"name\">");
	view_path(out, image);
	html(out, "</td></tr>\n");
}

static void
diff_render(const struct view_page *page)
{
	const json_t *report = page->reports[0].json, *row;
	struct html *out = page->out;
	size_t i;

	html(out, "<ul class=\"sets\">\n");
	render_set(out, report, "before");
	render_set(out, report, "after");
	html(out, "</ul>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table "
	          "class=\"sortable\">\n<caption>Shares of all samples; a * marks what differs by more than sampling "
	          "explains</caption>\n<thead><tr><th scope=\"col\" class=\"number\">Before %</th>"
	          "<th scope=\"col\" class=\"number\">After %</th><th scope=\"col\" class=\"number\">Differs</th>"
	          "<th scope=\"col\"><span class=\"unseen\">Marked</span></th>"
	          "<th scope=\"col\" class=\"number wide\">at least</th>"
	          "<th scope=\"col\" class=\"number wide\">at most</th>"
	          "<th scope=\"col\" class=\"number\">Times</th><th scope=\"col\">Procedure</th>"
	          "<th scope=\"col\">Image</th></tr></thead>\n<tbody>\n");
	json_array_foreach (json_object_get(report, "rows"), i, row)
		render_row(page, row);
	html(out, "</tbody></table></div>\n");
}

const struct view view_diff = {
	.path = "/diff",
	.title = "Compare",
	.about = "Did it change? Two sets of samples, by label, time, epoch, command or host; without any, the last "
		 "two epochs.",
	.keeps = QUERY_KEEPS(QUERY_COMM) | QUERY_KEEPS(QUERY_CGROUP) | QUERY_KEEPS(QUERY_HOST),
	.has_sides = true,
	.fields = fields,
	.commands = diff_commands,
	.render = diff_render,
};
