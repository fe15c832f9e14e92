/* Call stacks as a tree, from a procedure up to its callers or down to what it calls, or as a table: dcpiprof. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/view.h"

#define ROWS_DEFAULT "400"
#define OPEN_PERCENT 5.0 /* branches of the tree from here on are open */
#define LEVELS_MAX   256

static const struct view_field fields[] = {
	{QUERY_BY, "Shown", NULL, "tree callers callees inclusive"},
	{QUERY_PROCEDURE, "Procedure", "inflate_fast", NULL},
	{QUERY_IMAGE, "Image", "libz.so.1", NULL},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{QUERY_CUTOFF, "Leave out procedures below %", "0.5", NULL},
	{QUERY_LIMIT, "Rows at most", ROWS_DEFAULT, NULL},
	{0},
};

static bool
is_of_procedure(const char *by)
{
	return strcmp(by, "callers") == 0 || strcmp(by, "callees") == 0;
}

static size_t
calls_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	const char *by = query->values[QUERY_BY], *procedure = query->values[QUERY_PROCEDURE];
	const char *limit = query->values[QUERY_LIMIT];

	if (!by)
		by = procedure ? "callers" : "tree";
	if (!is_of_procedure(by) && strcmp(by, "tree") != 0 && strcmp(by, "inclusive") != 0) {
		snprintf(why, size, "by is tree, callers, callees or inclusive");
		return 0;
	}
	if (is_of_procedure(by) && !procedure) {
		snprintf(why, size, "%s of which procedure?", by);
		return 0;
	}
	if (!is_of_procedure(by) && procedure) {
		snprintf(why, size, "%s is of all procedures: callers and callees are of one", by);
		return 0;
	}
	command_begin(&commands[0], "dcpiprof", directory);
	if (is_of_procedure(by))
		command_option(&commands[0], by, procedure);
	else
		command_word(&commands[0], by[0] == 't' ? "--tree" : "--inclusive");
	command_selection(&commands[0], query);
	command_field(&commands[0], query, QUERY_IMAGE);
	command_field(&commands[0], query, QUERY_EVENT);
	command_option(&commands[0], "least", query->values[QUERY_CUTOFF]);
	command_option(&commands[0], "limit", limit ? limit : ROWS_DEFAULT);
	return 1;
}

static double
percent_of(const json_t *report, double samples)
{
	const double all = view_number(report, "samples");

	return all > 0 ? 100 * samples / all : 0;
}

/* A link to another view of the stacks of one event. procedure, image: NULL for all. */
static void
link_calls(const struct view_page *page, const char *by, const char *procedure, const char *image, const char *text)
{
	const struct query_change changes[] = {
		{QUERY_BY, by},
		{QUERY_PROCEDURE, procedure},
		{QUERY_IMAGE, image},
		{QUERY_EVENT, page->query->values[QUERY_EVENT]},
		{QUERY_CUTOFF, page->query->values[QUERY_CUTOFF]},
	};

	view_link(page, &view_calls, changes, sizeof(changes) / sizeof(changes[0]), text);
}

/* The procedure and its image; with is_link, as a link to its callers. */
static void
render_procedure(const struct view_page *page, const json_t *row, bool is_link)
{
	const char *procedure = view_text(row, "procedure"), *image = view_text(row, "image");
	struct html *out = page->out;

	if (view_has(row, "left_out")) {
		html_count(out, (uint64_t)fmax(view_number(row, "left_out"), 0));
		html(out, " more with few samples");
		return;
	}
	if (procedure[0] == '[' || !is_link)
		html_text(out, procedure);
	else
		link_calls(page, "callers", procedure, image[0] ? image : NULL, procedure);
	if (image[0]) {
		html(out, " <span class=\"in\">");
		view_path(out, image);
		html(out, "</span>");
	}
}

static void
render_shares(const struct view_page *page, const json_t *report, const json_t *row, bool is_link)
{
	const bool is_callers = strcmp(view_text(report, "view"), "callers") == 0;
	const double percent = percent_of(report, view_number(row, "samples"));
	const double own = percent_of(report, view_number(row, is_callers ? "first" : "own"));
	struct html *out = page->out;

	html_bar(out, percent, "bar");
	html(out, "<span class=\"share\">");
	html_real(out, percent, 2);
	html(out, "%</span> ");
	render_procedure(page, row, is_link);
	if (own > 0) {
		html(out, is_callers ? " <span class=\"range\">outermost " : " <span class=\"range\">own ");
		html_real(out, own, 2);
		html(out, "%</span>");
	}
}

/* What is known about the procedure of an open branch: a summary that opens may have no links itself. */
static void
render_links(const struct view_page *page, const json_t *row)
{
	const char *procedure = view_text(row, "procedure"), *image = view_text(row, "image");
	const struct query_change changes[] = {{QUERY_PROCEDURE, procedure}, {QUERY_IMAGE, image}};

	if (procedure[0] == '[')
		return;
	html(page->out, "<p class=\"more\">");
	link_calls(page, "callers", procedure, image[0] ? image : NULL, "callers");
	html(page->out, " · ");
	link_calls(page, "callees", procedure, image[0] ? image : NULL, "callees");
	html(page->out, " · ");
	view_link(page, &view_calc, changes, 2, "instructions");
	html(page->out, "</p>\n");
}

/* Rows are in the order of the tree, and each says how deep it lies. */
static void
render_tree(const struct view_page *page, const json_t *report)
{
	const json_t *rows = json_object_get(report, "rows"), *row;
	struct html *out = page->out;
	int depth = -1; /* of the list that is open */
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *next = json_array_get(rows, i + 1);
		const double wanted = view_number(row, "level");
		const int level = wanted < LEVELS_MAX ? (int)fmax(wanted, 0) : LEVELS_MAX;
		const bool has_branches = view_number(next, "level") > wanted;

		for (; depth > level; depth--)
			html(out, "</ul></details></li>\n");
		for (; depth < level; depth++)
			html(out, depth < 0 ? "<ul class=\"calls\">\n" : "<ul>\n");
		if (!has_branches || level == LEVELS_MAX) {
			html(out, "<li class=\"leaf\">");
			render_shares(page, report, row, true);
			html(out, "</li>\n");
			continue;
		}
		html(out, percent_of(report, view_number(row, "samples")) >= OPEN_PERCENT
		                  ? "<li><details open><summary>"
		                  : "<li><details><summary>");
		render_shares(page, report, row, false);
		html(out, "</summary>\n");
		render_links(page, row);
	}
	for (; depth > 0; depth--)
		html(out, "</ul></details></li>\n");
	if (depth == 0)
		html(out, "</ul>\n");
}

static void
render_flat(const struct view_page *page, const json_t *report)
{
	const json_t *row;
	struct html *out = page->out;
	size_t i;

	html(out,
	     "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Procedures of call stacks\"><table "
	     "class=\"sortable\">\n<caption>Procedures with what they call, and without</caption>\n<thead><tr>"
	     "<th scope=\"col\" class=\"number\">Samples</th><th scope=\"col\" class=\"number\">%</th>"
	     "<th scope=\"col\" class=\"number\">Own</th><th scope=\"col\" class=\"number\">%</th>"
	     "<th scope=\"col\">Procedure</th></tr></thead>\n<tbody>\n");
	json_array_foreach (json_object_get(report, "rows"), i, row) {
		const double samples = view_number(row, "samples"), own = view_number(row, "own");

		html(out, "<tr><td class=\"number\">");
		html_count(out, (uint64_t)fmax(samples, 0));
		html(out, "</td><td class=\"number\">");
		html_real(out, percent_of(report, samples), 2);
		html(out, "</td><td class=\"number\">");
		html_count(out, (uint64_t)fmax(own, 0));
		html(out, "</td><td class=\"number\">");
		html_real(out, percent_of(report, own), 2);
		html(out, "</td><th scope=\"row\" class=\"name\">");
		render_procedure(page, row, true);
		html(out, "</th></tr>\n");
	}
	html(out, "</tbody></table></div>\n");
}

/* What could not be unwound to its end. */
static void
render_truncated(struct html *out, const json_t *report)
{
	const json_t *truncated = json_object_get(report, "truncated");
	const char *cause, *separator = "<p class=\"about\">Truncated: ";
	json_t *samples;

	json_object_foreach ((json_t *)truncated, cause, samples) {
		html(out, separator);
		html_count(out, (uint64_t)fmax(json_number_value(samples), 0));
		html(out, " ");
		html_text(out, cause);
		separator = ", ";
	}
	if (json_object_size(truncated) > 0)
		html(out, "</p>\n");
}

static void
calls_render(const struct view_page *page)
{
	const json_t *report = page->reports[0].json;
	const char *procedure = page->query->values[QUERY_PROCEDURE], *image = page->query->values[QUERY_IMAGE];
	const struct query_change event = {QUERY_EVENT, page->query->values[QUERY_EVENT]};
	struct html *out = page->out;

	html(out, "<p>");
	if (procedure) {
		const bool is_callees = strcmp(view_text(report, "view"), "callees") == 0;

		link_calls(page, is_callees ? "callers" : "callees", procedure, image,
		           is_callees ? "Who calls it" : "What it calls");
		html(out, " · ");
	}
	link_calls(page, "tree", NULL, NULL, procedure ? "All calls as a tree" : "As a tree");
	html(out, " · ");
	link_calls(page, "inclusive", NULL, NULL, procedure ? "as a table" : "As a table");
	html(out, " · ");
	view_link(page, &view_flame, &event, 1, procedure ? "as a flame graph" : "As a flame graph");
	html(out, "</p>\n");
	view_samples_summary(page, report);
	if (procedure && view_number(report, "stacks") > 0) {
		html(out, "<p class=\"summary\">");
		html_real(out, 100 * view_number(report, "samples") / view_number(report, "stacks"), 2);
		html(out, "% of all are in <strong>");
		html_text(out, procedure);
		html(out, "</strong> or in what it calls</p>\n");
	}
	render_truncated(out, report);
	if (strcmp(view_text(report, "view"), "inclusive") == 0)
		render_flat(page, report);
	else
		render_tree(page, report);
}

const struct view view_calls = {
	.path = "/calls",
	.title = "Calls",
	.about = "Who calls what: all call stacks as a tree or a table, or from one procedure up or down.",
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.fields = fields,
	.commands = calls_commands,
	.render = calls_render,
};
