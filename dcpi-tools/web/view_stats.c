/* Which procedures vary from run to run: dcpistats. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/view.h"

#define ROWS_DEFAULT "50"
#define STRIP_WIDTH  160.0 /* units of a strip */

static const struct view_field fields[] = {
	{QUERY_BY, "Rows", NULL, "procedure image"},
	{QUERY_IMAGE, "Image", "libc.so.6", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_SORT, "Sort by", NULL, "range sum p deviation"},
	{QUERY_LIMIT, "Rows at most", ROWS_DEFAULT, NULL},
	{0},
};

static size_t
stats_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const char *by = query->values[QUERY_BY], *limit = query->values[QUERY_LIMIT];
	const bool has_sets = query->values[QUERY_LABEL] || query->values[QUERY_EPOCH];

	(void)why;
	(void)size;
	command_begin(&commands[0], "dcpistats", directory);
	if (by && strcmp(by, "image") == 0)
		command_word(&commands[0], "--by-image");
	if (!has_sets)
		command_option(&commands[0], "epoch", "all");
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_field(&commands[0], query, QUERY_SORT);
	command_option(&commands[0], "limit", limit ? limit : ROWS_DEFAULT);
	return 1;
}

/* A tick for each set, along a line from 0 to the largest count. */
static void
render_strip(struct html *out, const json_t *row, const json_t *sets)
{
	const json_t *counts = json_object_get(row, "counts"), *count;
	double most = 0;
	size_t i;

	json_array_foreach (counts, i, count)
		most = fmax(most, json_number_value(count) * view_number(json_array_get(sets, i), "factor"));
	html(out, "<svg class=\"strip\" role=\"img\" aria-label=\"");
	html_count(out, json_array_size(counts));
	html(out, " sets\" viewBox=\"-2 0 164 16\"><line class=\"axis\" x1=\"0\" x2=\"160\" y1=\"8\" y2=\"8\"/>");
	json_array_foreach (counts, i, count) {
		const json_t *set = json_array_get(sets, i);
		const double x =
			most > 0 ? STRIP_WIDTH * json_number_value(count) * view_number(set, "factor") / most : 0;

		html(out, "<line class=\"tick\" y1=\"2\" y2=\"14\"");
		html_number_attribute(out, "x1", x);
		html_number_attribute(out, "x2", x);
		html(out, "><title>");
		html_text(out, view_text(set, "title"));
		html(out, ": ");
		html_count(out, (uint64_t)fmax(json_number_value(count), 0));
		html(out, "</title></line>");
	}
	html(out, "</svg>");
}

static void
render_cell(struct html *out, double value, unsigned digits)
{
	html(out, "<td class=\"number\">");
	html_real(out, value, digits);
	html(out, "</td>");
}

static void
render_row(const struct view_page *page, const json_t *report, const json_t *row)
{
	const bool is_marked = json_is_true(json_object_get(row, "marked"));
	struct html *out = page->out;

	html(out, is_marked ? "<tr class=\"marked\">" : "<tr>");
	render_cell(out, view_number(row, "range_percent"), 2);
	render_cell(out, view_number(row, "sum_percent"), 2);
	render_cell(out, view_number(row, "mean"), 1);
	render_cell(out, view_number(row, "standard_deviation"), 1);
	render_cell(out, view_number(row, "min"), 0);
	render_cell(out, view_number(row, "max"), 0);
	html(out, "<td class=\"number\">");
	if (view_has(row, "p"))
		html_real(out, view_number(row, "p"), 4);
	html(out, is_marked ? " <abbr title=\"varies by more than noise\">*</abbr></td><td>" : "</td><td>");
	render_strip(out, row, json_object_get(report, "sets"));
	html(out, "</td><th scope=\"row\" class=\"name\">");
	if (view_has(row, "procedure")) {
		view_procedure_link(page, view_text(row, "procedure"), view_text(row, "image"), NULL);
		html(out, "</th><td class=\"name\">");
	}
	view_path(out, view_text(row, "image"));
	html(out, view_has(row, "procedure") ? "</td></tr>\n" : "</th></tr>\n");
}

static void
stats_render(const struct view_page *page)
{
	const json_t *report = page->reports[0].json, *rows = json_object_get(report, "rows"), *row;
	struct html *out = page->out;
	size_t i;

	html(out, "<p class=\"summary\">");
	html_count(out, json_array_size(json_object_get(report, "sets")));
	html(out, " sets of <strong>");
	html_text(out, view_text(report, "event"));
	html(out, "</strong>. Rows vary by ");
	html_real(out, view_number(report, "noise_percent"), 1);
	html(out,
	     "% beyond sampling anyway; a * marks those that vary by more.</p>\n"
	     "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table "
	     "class=\"sortable\">\n<caption>Procedures by how much they vary from set to set</caption>\n<thead><tr>"
	     "<th scope=\"col\" class=\"number\">Range %</th><th scope=\"col\" class=\"number\">Sum %</th>"
	     "<th scope=\"col\" class=\"number\">Mean</th><th scope=\"col\" class=\"number\">Deviation</th>"
	     "<th scope=\"col\" class=\"number\">Least</th><th scope=\"col\" class=\"number\">Most</th>"
	     "<th scope=\"col\" class=\"number\">p</th><th scope=\"col\">Sets, from 0 to the most</th>");
	if (view_has(json_array_get(rows, 0), "procedure"))
		html(out, "<th scope=\"col\">Procedure</th>");
	html(out, "<th scope=\"col\">Image</th></tr></thead>\n<tbody>\n");
	json_array_foreach (rows, i, row)
		render_row(page, report, row);
	html(out, "</tbody></table></div>\n");
}

const struct view view_stats = {
	.path = "/stats",
	.title = "Runs",
	.about = "Which procedures vary from one set of samples to another: runs of one label (a pattern), or epochs.",
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.fields = fields,
	.commands = stats_commands,
	.render = stats_render,
};
