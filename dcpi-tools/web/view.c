#include "dcpi-tools/web/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"

#define SECOND_NS 1e9

static const struct view *const views[] = {
	&view_overview, &view_procedures, &view_calls, &view_flame,  &view_calc,
	&view_graph,    &view_stats,      &view_diff,  &view_health,
};

/* The form's fields that select samples. */
static const struct view_field selection_fields[] = {
	{QUERY_SINCE, "Since", "2h, 14:30, 2026-11-21", NULL},
	{QUERY_UNTIL, "Until", "10m, 15:00", NULL},
	{QUERY_EPOCH, "Epoch", "latest, all, 3", NULL},
	{QUERY_COMM, "Command", "postgres", NULL},
	{QUERY_CGROUP, "Cgroup", "/system.slice", NULL},
	{QUERY_LABEL, "Label", "run.*", NULL},
	{QUERY_HOST, "Host", "web*", NULL},
	{0},
};

/* Those of command_sides(). */
static const struct view_field side_fields[] = {
	{QUERY_BEFORE, "Before: label", "before.*", NULL},
	{QUERY_AFTER, "After: label", "after.*", NULL},
	{QUERY_BEFORE_SINCE, "Before: since", "2026-11-20", NULL},
	{QUERY_AFTER_SINCE, "After: since", "2026-11-21", NULL},
	{QUERY_BEFORE_UNTIL, "Before: until", "2026-11-21", NULL},
	{QUERY_AFTER_UNTIL, "After: until", "2026-11-22", NULL},
	{QUERY_BEFORE_EPOCH, "Before: epoch", "latest-1", NULL},
	{QUERY_AFTER_EPOCH, "After: epoch", "latest", NULL},
	{QUERY_BEFORE_COMM, "Before: command", "server", NULL},
	{QUERY_AFTER_COMM, "After: command", "server2", NULL},
	{QUERY_BEFORE_HOST, "Before: host", "alpha", NULL},
	{QUERY_AFTER_HOST, "After: host", "beta", NULL},
	{0},
};

const struct view *
view_find(const char *path)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i]->path, path) == 0)
			return views[i];
	return NULL;
}

bool
view_is_unselected(const struct query *query)
{
	return !query->values[QUERY_EPOCH] && !query->values[QUERY_SINCE] && !query->values[QUERY_UNTIL] &&
	       !query->values[QUERY_LABEL];
}

/* ---- for views ---- */

const char *
view_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

double
view_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool
view_has(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return value && !json_is_null(value);
}

void
view_time(struct html *out, double seconds)
{
	char text[TIME_TEXT_SIZE];

	if (seconds > 0 && seconds < 1e10)
		html_text(out, time_format((uint64_t)(seconds * SECOND_NS), text));
}

void
view_link(const struct view_page *page, const struct view *to, const struct query_change *changes, size_t count,
          const char *text)
{
	char *url = query_url(to->path, page->links, to->keeps, changes, count);

	if (url)
		html_link(page->out, url, text);
	else
		page->out->failed = true;
	free(url);
}

void
view_procedure_link(const struct view_page *page, const char *procedure, const char *image, const char *event)
{
	const struct query_change changes[] = {
		{QUERY_PROCEDURE, procedure}, {QUERY_IMAGE, image}, {QUERY_EVENT, event}};
	const struct query_change callers[] = {
		{QUERY_PROCEDURE, procedure}, {QUERY_IMAGE, image}, {QUERY_BY, "callers"}};

	if (procedure[0] == '[') {
		html_text(page->out, procedure); /* "[no symbol: libfoo.so]" is none */
		return;
	}
	view_link(page, &view_calc, changes, sizeof(changes) / sizeof(changes[0]), procedure);
	html(page->out, " <span class=\"more\">");
	view_link(page, &view_calls, callers, sizeof(callers) / sizeof(callers[0]), "callers");
	html(page->out, "</span>");
}

void
view_path(struct html *out, const char *path)
{
	const char *name = text_basename(path);
	char *folder = strndup(path, (size_t)(name - path));

	if (!folder) {
		out->failed = true;
		return;
	}
	if (folder[0]) {
		html(out, "<span class=\"folder\">");
		html_text(out, folder);
		html(out, "</span>");
	}
	html_text(out, name);
	free(folder);
}

void
view_image_link(const struct view_page *page, const char *path, const char *reference)
{
	const struct query_change change = {QUERY_IMAGE, reference};
	char *url = query_url(view_procedures.path, page->links, view_procedures.keeps, &change, 1);

	html(page->out, "<a");
	html_attribute(page->out, "href", url ? url : "/procedures");
	html_attribute(page->out, "title", path);
	html(page->out, ">");
	view_path(page->out, path);
	html(page->out, "</a>");
	free(url);
}

void
view_errors(const struct view_page *page, const struct view_report *report)
{
	const char *sentences = report->errors;
	struct html *out = page->out;

	html(out, "<p class=\"trouble\" role=\"alert\">");
	while (*sentences) {
		const size_t length = strcspn(sentences, "\n");
		char *sentence = strndup(sentences, length);

		/* what argp adds is of use in a terminal only */
		if (sentence && strncmp(sentence, "Try `", 5) != 0) {
			html_text(out, sentence);
			html(out, "\n");
		}
		free(sentence);
		sentences += length + (sentences[length] == '\n');
	}
	if (!report->errors[0])
		html(out, "there is not enough memory for the report");
	html(out, "</p>\n");
}

/* The element alone: no declaration of XML, and no type of the document, in HTML. */
void
view_picture(const struct view_page *page, const char *class, const char *name)
{
	const char *svg = strstr(page->reports[0].text, "<svg");
	struct html *out = page->out;

	html(out, "<div");
	html_attribute(out, "class", class);
	html(out, " tabindex=\"0\" role=\"region\"");
	html_attribute(out, "aria-label", name);
	html(out, ">\n");
	html(out, svg ? svg : "<p>There is no picture.</p>");
	html(out, "</div>\n");
}

void
view_samples_summary(const struct view_page *page, const json_t *report)
{
	const json_t *event = json_array_get(json_object_get(report, "events"), 0);
	const json_t *overhead = json_object_get(report, "overhead");
	struct html *out = page->out;

	html(out, "<p class=\"summary\">");
	html_count(out, (uint64_t)fmax(view_number(event, "selected"), 0));
	html(out, " samples of <strong>");
	html_text(out, view_text(event, "name"));
	html(out, "</strong>, ");
	html_text(out, view_text(report, "start"));
	html(out, " to ");
	html_text(out, view_text(report, "end"));
	if (view_has(overhead, "measured_percent")) {
		html(out, "; collecting them took ");
		html_real(out, view_number(overhead, "measured_percent"), 2);
		html(out, "% of the machine&#39;s processor time");
		if (view_has(overhead, "limit_percent")) {
			html(out, " (limit ");
			html_real(out, view_number(overhead, "limit_percent"), 0);
			html(out, "%)");
		}
	}
	if (view_number(report, "lost") > 0) {
		html(out, "; <strong>");
		html_count(out, (uint64_t)view_number(report, "lost"));
		html(out, " lost</strong>");
	}
	html(out, "</p>\n");
}

/* ---- the page ---- */

static void
render_head(struct html *out, const char *title)
{
	html(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_text(out, title);
	html(out, " - dcpi</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n"
	          "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
	          "<script src=\"/dcpi.js\" defer></script>\n</head>\n<body>\n"
	          "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
}

static void
render_navigation(struct html *out, const struct view *current, const struct query *query)
{
	static const struct query nothing;

	html(out, "<header>\n<nav aria-label=\"Views\"><ul>\n");
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		char *url;

		if (views[i]->is_hidden)
			continue;
		url = query_url(views[i]->path, query ? query : &nothing, views[i]->keeps & QUERY_SELECTION, NULL, 0);
		html(out, "<li><a");
		html_attribute(out, "href", url ? url : "/");
		html(out, current == views[i] ? " aria-current=\"page\">" : ">");
		html_text(out, views[i]->title);
		html(out, "</a></li>\n");
		free(url);
	}
	html(out, "</ul></nav>\n</header>\n");
}

static void
render_choices(struct html *out, const char *choices, const char *value)
{
	while (*choices) {
		const size_t length = strcspn(choices, " ");
		char *choice = strndup(choices, length);

		if (!choice) {
			out->failed = true;
			return;
		}
		html(out, "<option");
		html(out, value && strcmp(choice, value) == 0 ? " selected>" : ">");
		html_text(out, choice);
		html(out, "</option>");
		free(choice);
		choices += length + strspn(choices + length, " ");
	}
}

static void
render_field(const struct view_page *page, const struct view_field *field)
{
	const char *value = page->query->values[field->field];
	const char *name = query_field_name(field->field);
	struct html *out = page->out;

	html(out, "<label>");
	html_text(out, field->label);
	if (field->choices) {
		html(out, "<select");
		html_attribute(out, "name", name);
		html(out, ">");
		render_choices(out, field->choices, value);
		html(out, "</select></label>\n");
		return;
	}
	html(out, "<input");
	html_attribute(out, "name", name);
	if (value)
		html_attribute(out, "value", value);
	if (field->hint)
		html_attribute(out, "placeholder", field->hint);
	html(out, " autocomplete=\"off\" spellcheck=\"false\"></label>\n");
}

static void
render_form(const struct view_page *page)
{
	const struct view *view = page->view;
	struct html *out = page->out;
	const char *separator = ": ";

	if (!view->fields && !view->has_selection && !view->has_sides)
		return;
	html(out, "<details class=\"filter\"><summary>Select and filter");
	for (unsigned field = QUERY_REPORT + 1; field < QUERY_FIELDS; field++) {
		if (!page->query->values[field])
			continue;
		html(out, separator);
		html_text(out, query_field_name((enum query_field)field));
		html(out, " <strong>");
		html_text(out, page->query->values[field]);
		html(out, "</strong>");
		separator = ", ";
	}
	html(out, "</summary>\n<form method=\"get\"");
	html_attribute(out, "action", view->path);
	html(out, ">\n");
	for (const struct view_field *field = view->fields; field && field->label; field++)
		render_field(page, field);
	for (const struct view_field *field = selection_fields; view->has_selection && field->label; field++)
		render_field(page, field);
	if (view->has_sides) {
		html(out, "<fieldset><legend>Two sets, compared</legend>\n");
		for (const struct view_field *field = side_fields; field->label; field++)
			render_field(page, field);
		html(out, "</fieldset>\n");
	}
	html(out, "<div class=\"buttons\"><button>Show</button> ");
	html_link(out, view->path, "Reset");
	html(out, "</div>\n</form>\n</details>\n");
}

static void
render_format_link(const struct view_page *page, size_t report, const char *format, const char *text)
{
	const char number[] = {(char)('1' + report), '\0'};
	const struct query_change changes[] = {{QUERY_FORMAT, format}, {QUERY_REPORT, report > 0 ? number : NULL}};
	char *url = query_url(page->view->path, page->query, QUERY_ALL, changes, 2);

	if (url)
		html_link(page->out, url, text);
	else
		page->out->failed = true;
	free(url);
}

/* Links to what the tool prints, unless it is known to print nothing; then its command line. */
static void
render_elsewhere(const struct view_page *page, size_t index)
{
	const struct view_report *report = &page->reports[index];
	const bool has_output = report->is_missing || report->text[0];
	struct tool_command shown = *report->command;
	struct html *out = page->out;
	size_t kept = 0;

	for (size_t k = 0; k < shown.count; k++)
		if (strcmp(shown.words[k], "--json") != 0 && strcmp(shown.words[k], "--no-script") != 0)
			shown.words[kept++] = shown.words[k];
	shown.count = kept; /* its words stay the command's */
	html(out, "<li>");
	if (shown.title) {
		html_text(out, shown.title);
		html(out, ": ");
	}
	if (has_output && shown.is_svg) {
		render_format_link(page, index, "svg", "as a picture (SVG)");
		html(out, " · ");
	} else if (has_output) {
		render_format_link(page, index, "text", "as text");
		html(out, " · ");
		render_format_link(page, index, "json", "as JSON");
		html(out, " · ");
	}
	html(out, "<code>");
	command_show(&shown, out);
	html(out, "</code></li>\n");
}

/* Each report as text, as JSON, and by a command. */
static void
render_footer(const struct view_page *page)
{
	html(page->out, "<footer>\n<h2>The same elsewhere</h2>\n<ul class=\"commands\">\n");
	for (size_t i = 0; i < page->report_count; i++)
		render_elsewhere(page, i);
	html(page->out, "</ul>\n</footer>\n");
}

static void
render_page(const struct view_page *page)
{
	const struct view *view = page->view;
	struct html *out = page->out;

	render_head(out, page->query->values[QUERY_PROCEDURE] ? page->query->values[QUERY_PROCEDURE] : view->title);
	render_navigation(out, view, page->links);
	html(out, "<main id=\"main\">\n<h1>");
	html_text(out, view->title);
	html(out, "</h1>\n");
	if (view->about) {
		html(out, "<p class=\"about\">");
		html_text(out, view->about);
		html(out, "</p>\n");
	}
	render_form(page);
	if (page->reports[0].json || (page->reports[0].command->is_svg && page->reports[0].status == 0))
		view->render(page);
	else
		view_errors(page, &page->reports[0]);
	html(out, "</main>\n");
	render_footer(page);
	html(out, "</body>\n</html>\n");
}

void
view_render(const struct view_page *page)
{
	static char all[] = "all";
	struct view_page rendered = *page;
	struct query links = *page->query; /* its values stay the query's */

	if (page->view->shows_all && view_is_unselected(page->query))
		links.values[QUERY_EPOCH] = all;
	rendered.links = &links;
	render_page(&rendered);
}

void
view_render_error(struct html *out, const char *title, const char *sentence)
{
	render_head(out, title);
	render_navigation(out, NULL, NULL);
	html(out, "<main id=\"main\">\n<h1>");
	html_text(out, title);
	html(out, "</h1>\n<p class=\"trouble\" role=\"alert\">");
	html_text(out, sentence);
	html(out, "</p>\n</main>\n</body>\n</html>\n");
}
