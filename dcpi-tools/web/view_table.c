#include "dcpi-tools/web/view_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOT_PERCENT 5 /* as in dcpiprof's colours */

/* What shares are of: the event's samples. */
static double
total_of(const json_t *event)
{
	return view_number(event, "selected");
}

/* A heading that sorts by an event: a link, for a browser without a script. */
static void
render_event_heading(const struct view_page *page, const json_t *event, bool is_first)
{
	const char *name = view_text(event, "name");
	const struct query_change change = {QUERY_SORT, name};
	struct html *out = page->out;

	html(out, is_first ? "<th scope=\"col\" class=\"number\" aria-sort=\"descending\">"
	                   : "<th scope=\"col\" class=\"number\">");
	if (page->view == &view_procedures) {
		char *url = query_url("/procedures", page->query, QUERY_ALL, &change, 1);

		if (url)
			html_link(out, url, name);
		free(url);
	} else {
		html_text(out, name);
	}
	html(out, "</th><th scope=\"col\" class=\"number\">%</th>");
}

/* Two images of one path: of these, the build-id says which. */
static const char *
image_reference(const json_t *rows, const json_t *row, char build_id[17])
{
	const char *path = view_text(row, "image"), *id = view_text(row, "build_id");
	const json_t *other;
	size_t i;

	json_array_foreach (rows, i, other) {
		if (other == row || !id[0] || strcmp(view_text(other, "image"), path) != 0 ||
		    strcmp(view_text(other, "build_id"), id) == 0)
			continue;
		strncpy(build_id, id, 16);
		build_id[16] = '\0';
		return build_id;
	}
	return path;
}

/* The share of the first row, to which bars are relative. */
static double
most_percent(const json_t *report)
{
	const json_t *event = json_array_get(json_object_get(report, "events"), 0);
	const json_t *row = json_array_get(json_object_get(report, "rows"), 0);

	return total_of(event) > 0
	               ? 100 * view_number(json_object_get(row, "counts"), view_text(event, "name")) / total_of(event)
	               : 0;
}

static void
render_row(const struct view_page *page, const json_t *report, const json_t *row, double most, double *sum)
{
	const json_t *events = json_object_get(report, "events"), *rows = json_object_get(report, "rows");
	const json_t *counts = json_object_get(row, "counts"), *event;
	char build_id[17];
	const char *image = image_reference(rows, row, build_id);
	struct html *out = page->out;
	double first_percent = 0;
	size_t i;

	html(out, "<tr>");
	json_array_foreach (events, i, event) {
		const double count = view_number(counts, view_text(event, "name")), total = total_of(event);
		const double percent = total > 0 ? 100 * count / total : 0;

		if (!view_has(counts, view_text(event, "name")))
			continue;
		html(out, "<td class=\"number\">");
		html_count(out, (uint64_t)fmax(count, 0));
		html(out, percent >= HOT_PERCENT ? "</td><td class=\"number hot\">" : "</td><td class=\"number\">");
		html_real(out, percent, 2);
		html(out, "</td>");
		if (i > 0)
			continue;
		*sum += percent;
		first_percent = percent;
		html(out, "<td class=\"number wide\">");
		html_real(out, *sum, 2);
		html(out, "</td>");
	}
	html(out, "<td class=\"bar wide\">");
	html_bar(out, most > 0 ? 100 * first_percent / most : 0, "bar");
	html(out, "</td>");
	if (view_has(row, "procedure")) {
		html(out, "<th scope=\"row\" class=\"name\">");
		view_procedure_link(page, view_text(row, "procedure"), image, NULL);
		html(out, "</th><td class=\"name\">");
	} else {
		html(out, "<th scope=\"row\" class=\"name\">");
	}
	view_image_link(page, view_text(row, "image"), image);
	html(out, view_has(row, "procedure") ? "</td></tr>\n" : "</th></tr>\n");
}

void
view_table_of_procedures(const struct view_page *page, const json_t *report, const char *caption, size_t limit)
{
	const json_t *events = json_object_get(report, "events"), *rows = json_object_get(report, "rows");
	const json_t *first = json_array_get(rows, 0), *event, *row;
	struct html *out = page->out;
	double sum = 0;
	size_t i;

	html(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\"");
	html_attribute(out, "aria-label", caption);
	html(out, "><table class=\"sortable\">\n<caption>");
	html_text(out, caption);
	html(out, "</caption>\n<thead><tr>");
	json_array_foreach (events, i, event) {
		if (!view_has(json_object_get(first, "counts"), view_text(event, "name")))
			continue;
		render_event_heading(page, event, i == 0);
		if (i == 0)
			html(out, "<th scope=\"col\" class=\"number wide\">cum%</th>");
	}
	html(out, "<th scope=\"col\" class=\"wide\"><span class=\"unseen\">Share</span></th>");
	if (view_has(first, "procedure"))
		html(out, "<th scope=\"col\">Procedure</th>");
	html(out, "<th scope=\"col\">Image</th></tr></thead>\n<tbody>\n");
	json_array_foreach (rows, i, row)
		if (limit == 0 || i < limit)
			render_row(page, report, row, most_percent(report), &sum);
	html(out, "</tbody>\n</table></div>\n");
}
