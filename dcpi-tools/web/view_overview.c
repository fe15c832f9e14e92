/* What the machine does, over time, and what takes the time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/text.h"
#include "dcpi-tools/web/view.h"
#include "dcpi-tools/web/view_table.h"

#define SERIES_SHOWN     "7"
#define PROCEDURES_SHOWN 15
#define IMAGES_SHOWN     8
#define IMAGES_LIMIT     "8"
#define COLUMNS_MAX      400    /* of the picture; slices share them when there are more */
#define PICTURE_WIDTH    1000.0 /* units of the picture, which is stretched to the page's width */
#define PICTURE_HEIGHT   240.0
#define SECOND_NS        1e9
#define SERIES_MAX       8 /* colours; the last one is for all others */

enum overview_report { REPORT_TIMELINE, REPORT_IMAGES, REPORT_PROCEDURES, REPORT_STATUS, REPORT_DOCTOR, REPORT_COUNT };

static const struct view_field fields[] = {
	{QUERY_BY, "Stacked by", NULL, "image command cgroup"},
	{QUERY_EVENT, "Event", "cycles", NULL},
	{0},
};

/* All slices are shown unless a time or an epoch is asked for: a page about a machine begins with all that is known. */
static void
select_all(struct tool_command *command, const struct query *query)
{
	if (view_is_unselected(query))
		command_option(command, "epoch", "all");
	command_selection(command, query);
}

static size_t
overview_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why,
                  size_t size)
{
	struct tool_command *command = &commands[REPORT_TIMELINE];

	(void)why;
	(void)size;
	command_begin(command, "dcpitimeline", directory);
	select_all(command, query);
	command_field(command, query, QUERY_BY);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "limit", SERIES_SHOWN);
	command->title = "Time line";

	command = &commands[REPORT_IMAGES];
	command_begin(command, "dcpiprof", directory);
	command_word(command, "--by-image");
	select_all(command, query);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "limit", IMAGES_LIMIT);
	command->title = "Images";

	/* names of all procedures take much longer to read than samples */
	command = &commands[REPORT_PROCEDURES];
	command_begin(command, "dcpiprof", directory);
	select_all(command, query);
	command_field(command, query, QUERY_EVENT);
	command_option(command, "limit", VIEW_PROCEDURES_LIMIT); /* as the view of procedures, which is next */
	command->title = "Procedures";
	command->need = COMMAND_WANTED;

	command = &commands[REPORT_STATUS];
	command_begin(command, "dcpictl", directory);
	command_word(command, "status");
	command->title = "dcpid";
	command->source = COMMAND_LIVE;
	command->need = COMMAND_WANTED;

	command = &commands[REPORT_DOCTOR];
	command_begin(command, "dcpictl", directory);
	command_word(command, "doctor");
	command->title = "What is in the way";
	command->source = COMMAND_MACHINE;
	command->need = COMMAND_IF_THERE;
	return REPORT_COUNT;
}

/* ---- the picture ---- */

/* A column of the picture: one slice or several that follow each other, in one epoch. */
struct column {
	double start, end; /* seconds since 1970 */
	double seconds;    /* that slices cover */
	double values[SERIES_MAX], all;
};

struct picture {
	struct column *columns;
	size_t count, series_count; /* without the others */
	double start, end, most;    /* the largest rate */
	bool is_clock;              /* rates are CPUs that were busy, else events a second */
};

static double
rate_of(const struct picture *picture, const struct column *column, double events)
{
	const double seconds = fmax(column->seconds, 1e-3);

	return picture->is_clock ? events / SECOND_NS / seconds : events / seconds;
}

static void
add_slice(const struct picture *picture, struct column *column, const json_t *slice)
{
	const json_t *values = json_object_get(slice, "values");
	const double start = view_number(slice, "start"), end = view_number(slice, "end");

	if (column->seconds == 0)
		column->start = start;
	column->end = fmax(column->end, end);
	column->seconds += fmax(end - start, 0);
	for (size_t i = 0; i < picture->series_count; i++)
		column->values[i] += json_number_value(json_array_get(values, i));
	column->values[picture->series_count] += view_number(slice, "others");
	column->all += view_number(slice, "events");
}

/* False when memory ends. */
static bool
make_picture(const json_t *report, struct picture *picture)
{
	const json_t *slices = json_object_get(report, "slices"), *slice;
	const size_t count = json_array_size(slices), together = (count + COLUMNS_MAX - 1) / COLUMNS_MAX;
	size_t i;

	memset(picture, 0, sizeof(*picture));
	picture->columns = calloc(COLUMNS_MAX + 1, sizeof(*picture->columns));
	if (!picture->columns || count == 0)
		return false;
	picture->series_count = json_array_size(json_object_get(report, "series"));
	if (picture->series_count > SERIES_MAX - 1)
		picture->series_count = SERIES_MAX - 1;
	picture->is_clock = strcmp(view_text(report, "unit"), "ns") == 0;
	json_array_foreach (slices, i, slice)
		add_slice(picture, &picture->columns[i / together], slice);
	picture->count = (count + together - 1) / together;
	picture->start = picture->columns[0].start;
	for (i = 0; i < picture->count; i++) {
		const struct column *column = &picture->columns[i];

		picture->end = fmax(picture->end, column->end);
		picture->most = fmax(picture->most, rate_of(picture, column, column->all));
	}
	return picture->end > picture->start && picture->most > 0;
}

static double
x_of(const struct picture *picture, double time)
{
	return PICTURE_WIDTH * (time - picture->start) / (picture->end - picture->start);
}

static double
height_of(const struct picture *picture, const struct column *column, double events)
{
	return PICTURE_HEIGHT * rate_of(picture, column, events) / picture->most;
}

/* "M x y h w v h z" of one rectangle of a path. */
static void
draw_part(struct html *out, double x, double y, double width, double height)
{
	html(out, "M");
	html_real(out, x, 2);
	html(out, " ");
	html_real(out, y, 2);
	html(out, "h");
	html_real(out, width, 2);
	html(out, "v");
	html_real(out, height, 2);
	html(out, "h");
	html_real(out, -width, 2);
	html(out, "z");
}

static void
draw_series(const struct view_page *page, const struct picture *picture, size_t series)
{
	static const char *const classes[SERIES_MAX] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};
	struct html *out = page->out;

	html(out, "<path");
	html_attribute(out, "class", series == picture->series_count ? "s7" : classes[series]);
	html(out, " d=\"");
	for (size_t i = 0; i < picture->count; i++) {
		const struct column *column = &picture->columns[i];
		const double height = height_of(picture, column, column->values[series]);
		double below = 0;

		for (size_t k = 0; k < series; k++)
			below += height_of(picture, column, column->values[k]);
		if (height >= 0.05)
			draw_part(out, x_of(picture, column->start), PICTURE_HEIGHT - below - height,
			          fmax(x_of(picture, column->end) - x_of(picture, column->start), 0.4), height);
	}
	html(out, "\"/>\n");
}

/* "@1795271400": what dcpi's tools read as a time. */
static void
format_time(double seconds, char text[32])
{
	snprintf(text, 32, "@%.0f", seconds);
}

static char *
stretch_url(const struct view_page *page, double start, double end)
{
	char since[32], until[32];
	const struct query_change changes[] = {{QUERY_SINCE, since}, {QUERY_UNTIL, until}, {QUERY_EPOCH, NULL}};

	/* a slice is taken whole if it overlaps: half a second inside, its neighbours stay out */
	format_time(ceil(start), since);
	format_time(fmax(floor(end), ceil(start) + 1), until);
	return query_url("/", page->query, QUERY_ALL, changes, sizeof(changes) / sizeof(changes[0]));
}

static void
render_rate(struct html *out, const struct picture *picture, double rate)
{
	html_real(out, rate, rate < 10 ? 2 : 0);
	html(out, picture->is_clock ? " CPUs" : "/s");
}

/* A transparent rectangle over each column: a link to its stretch, with a tip. */
static void
draw_links(const struct view_page *page, const struct picture *picture)
{
	struct html *out = page->out;

	for (size_t i = 0; i < picture->count; i++) {
		const struct column *column = &picture->columns[i];
		char *url = stretch_url(page, column->start, column->end);

		html(out, "<a tabindex=\"-1\"");
		html_attribute(out, "href", url ? url : "/");
		html(out, "><rect class=\"hit\" y=\"0\" height=\"240\"");
		html_number_attribute(out, "x", x_of(picture, column->start));
		html_number_attribute(out, "width",
		                      fmax(x_of(picture, column->end) - x_of(picture, column->start), 0.4));
		html(out, "><title>");
		view_time(out, column->start);
		html(out, ": ");
		render_rate(out, picture, rate_of(picture, column, column->all));
		html(out, "</title></rect></a>\n");
		free(url);
	}
}

static void
render_scale(const struct view_page *page, const struct picture *picture)
{
	struct html *out = page->out;

	html(out, "<div class=\"scale\" aria-hidden=\"true\">");
	for (int i = 0; i <= 4; i++) {
		html(out, i % 2 ? "<span class=\"wide\">" : "<span>");
		view_time(out, picture->start + i * (picture->end - picture->start) / 4);
		html(out, "</span>");
	}
	html(out, "</div>\n");
}

static void
render_key(const struct view_page *page, const struct picture *picture, const json_t *report)
{
	const json_t *series = json_object_get(report, "series");
	const char *by = view_text(report, "by");
	struct html *out = page->out;

	html(out, "<ul class=\"key\">");
	for (size_t i = 0; i < picture->series_count; i++) {
		const char *name = view_text(json_array_get(series, i), "name");
		const struct query_change change = {strcmp(by, "command") == 0  ? QUERY_COMM
		                                    : strcmp(by, "cgroup") == 0 ? QUERY_CGROUP
		                                                                : QUERY_IMAGE,
		                                    name};
		const char swatch[] = {'s', (char)('0' + i), '\0'};

		html(out, "<li><svg aria-hidden=\"true\" viewBox=\"0 0 10 10\" class=\"swatch\"><rect width=\"10\" "
		          "height=\"10\"");
		html_attribute(out, "class", swatch);
		html(out, "/></svg> ");
		if (name[0])
			view_link(page, &view_procedures, &change, 1, name);
		else
			html(out, "(not known)");
		html(out, "</li>\n");
	}
	html(out, "<li><svg aria-hidden=\"true\" viewBox=\"0 0 10 10\" class=\"swatch\"><rect width=\"10\" "
	          "height=\"10\" class=\"s7\"/></svg> others</li></ul>\n");
}

/* The picture's numbers, for whoever does not see it, and with links for the keyboard. */
static void
render_numbers(const struct view_page *page, const struct picture *picture, const json_t *report)
{
	const json_t *series = json_object_get(report, "series");
	struct html *out = page->out;

	html(out, "<details><summary>The time line as a table</summary><div class=\"scroll\" tabindex=\"0\" "
	          "role=\"region\" aria-label=\"Time line\"><table>\n<caption>");
	html(out, picture->is_clock ? "CPUs that were busy" : "Events a second");
	html(out, "</caption><thead><tr><th scope=\"col\">From</th><th scope=\"col\" class=\"number\">All</th>");
	for (size_t i = 0; i < picture->series_count; i++) {
		html(out, "<th scope=\"col\" class=\"number\">");
		html_text(out, text_basename(view_text(json_array_get(series, i), "name")));
		html(out, "</th>");
	}
	html(out, "<th scope=\"col\" class=\"number\">Others</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < picture->count; i++) {
		const struct column *column = &picture->columns[i];
		char *url = stretch_url(page, column->start, column->end);

		html(out, "<tr><th scope=\"row\"><a");
		html_attribute(out, "href", url ? url : "/");
		html(out, ">");
		view_time(out, column->start);
		html(out, "</a></th><td class=\"number\">");
		html_real(out, rate_of(picture, column, column->all), 3);
		for (size_t k = 0; k <= picture->series_count; k++) {
			html(out, "</td><td class=\"number\">");
			html_real(out, rate_of(picture, column, column->values[k]), 3);
		}
		html(out, "</td></tr>\n");
		free(url);
	}
	html(out, "</tbody></table></div></details>\n");
}

/* Links to more time around the picture, and to all. */
static void
render_zoom(const struct view_page *page, const struct picture *picture)
{
	const double length = picture->end - picture->start;
	const struct query_change all[] = {{QUERY_SINCE, NULL}, {QUERY_UNTIL, NULL}};
	struct html *out = page->out;
	char *url;

	html(out, "<p class=\"zoom\">");
	if (page->query->values[QUERY_SINCE] || page->query->values[QUERY_UNTIL]) {
		url = stretch_url(page, picture->start - length, picture->end + length);
		if (url)
			html_link(out, url, "Zoom out");
		free(url);
		html(out, " · ");
		url = query_url("/", page->query, QUERY_ALL, all, 2);
		if (url)
			html_link(out, url, "All time");
		free(url);
	} else {
		html(out, "A click on the picture selects a stretch; with a script, dragging does, too.");
	}
	html(out, "</p>\n");
}

static void
render_timeline(const struct view_page *page, const json_t *report)
{
	struct html *out = page->out;
	struct picture picture;

	html(out, "<section aria-labelledby=\"timeline\"><h2 id=\"timeline\">Time line</h2>\n");
	if (!make_picture(report, &picture)) {
		html(out, "<p>There is nothing to draw.</p></section>\n");
		free(picture.columns);
		return;
	}
	html(out, "<p class=\"most\"><strong>");
	html_text(out, view_text(report, "event"));
	html(out, "</strong> by ");
	html_text(out, view_text(report, "by"));
	html(out, ", up to ");
	render_rate(out, &picture, picture.most);
	html(out, "</p>\n<svg class=\"timeline\" role=\"group\" aria-label=\"Time line; the table below has its "
	          "numbers\" viewBox=\"0 0 1000 240\" preserveAspectRatio=\"none\"");
	html_number_attribute(out, "data-start", picture.start);
	html_number_attribute(out, "data-end", picture.end);
	html(out, ">\n");
	for (size_t i = 0; i <= picture.series_count; i++)
		draw_series(page, &picture, i);
	draw_links(page, &picture);
	html(out, "</svg>\n");
	render_scale(page, &picture);
	render_key(page, &picture, report);
	render_zoom(page, &picture);
	render_numbers(page, &picture, report);
	html(out, "</section>\n");
	free(picture.columns);
}

/* ---- is all well? ---- */

static void
render_health(const struct view_page *page)
{
	const struct view_report *status = &page->reports[REPORT_STATUS], *doctor = &page->reports[REPORT_DOCTOR];
	struct html *out = page->out;

	html(out, "<p class=\"health\">");
	if (status->json) {
		html(out, "dcpid ");
		html_text(out, view_text(status->json, "version"));
		html(out, " collects. ");
	} else if (!status->is_missing) {
		html(out, "<strong>dcpid does not collect here.</strong> ");
	}
	if (doctor->json) {
		const double problems = view_number(doctor->json, "problems"),
			     warnings = view_number(doctor->json, "warnings");

		html(out, problems > 0 ? "<strong>The doctor found " : "The doctor found ");
		html_count(out, (uint64_t)problems);
		html(out, problems == 1 ? " problem" : " problems");
		html(out, problems > 0 ? "</strong> and " : " and ");
		html_count(out, (uint64_t)warnings);
		html(out, warnings == 1 ? " warning. " : " warnings. ");
	}
	view_link(page, &view_health, NULL, 0, "What is collected, and what is in the way");
	html(out, "</p>\n");
}

/* A table of dcpiprof, or why it is not there. */
static void
render_table(const struct view_page *page, const struct view_report *report, const char *caption, size_t rows)
{
	if (report->json)
		view_table_of_procedures(page, report->json, caption, rows);
	else if (report->is_missing)
		html(page->out, "<p>Names are being read; the page shows them in a moment.</p>\n");
	else
		view_errors(page, report);
}

static void
overview_render(const struct view_page *page)
{
	const struct view_report *images = &page->reports[REPORT_IMAGES];
	struct html *out = page->out;

	render_timeline(page, page->reports[REPORT_TIMELINE].json);
	html(out, "<section aria-labelledby=\"hottest\"><h2 id=\"hottest\">What took the time</h2>\n");
	if (images->json)
		view_samples_summary(page, images->json);
	html(out, "<div class=\"columns\"><div>\n");
	render_table(page, &page->reports[REPORT_PROCEDURES], "The hottest procedures of the time above",
	             PROCEDURES_SHOWN);
	html(out, "<p>");
	view_link(page, &view_procedures, NULL, 0, "All procedures");
	html(out, "</p>\n</div><div>\n");
	render_table(page, images, "The hottest images", IMAGES_SHOWN);
	html(out,
	     "</div></div>\n</section>\n<section aria-labelledby=\"health\"><h2 id=\"health\">Is all well?</h2>\n");
	render_health(page);
	html(out, "</section>\n");
}

const struct view view_overview = {
	.path = "/",
	.title = "Overview",
	.about = NULL,
	.keeps = QUERY_SELECTION,
	.has_selection = true,
	.shows_all = true,
	.fields = fields,
	.commands = overview_commands,
	.render = overview_render,
};
