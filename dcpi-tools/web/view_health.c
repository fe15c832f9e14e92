/* Whether all is well, and what collecting costs: dcpictl doctor and status. */
#include <math.h>
#include <string.h>

#include "dcpi-tools/web/view.h"

enum health_report { REPORT_DOCTOR, REPORT_STATUS, REPORT_COUNT };

static size_t
health_commands(const struct query *query, const char *directory, struct tool_command *commands, char *why, size_t size)
{
	(void)query;
	(void)why;
	(void)size;
	command_begin(&commands[REPORT_DOCTOR], "dcpictl", directory);
	command_word(&commands[REPORT_DOCTOR], "doctor");
	commands[REPORT_DOCTOR].source = COMMAND_MACHINE;
	commands[REPORT_DOCTOR].title = "What is in the way";
	command_begin(&commands[REPORT_STATUS], "dcpictl", directory);
	command_word(&commands[REPORT_STATUS], "status");
	commands[REPORT_STATUS].source = COMMAND_LIVE;
	commands[REPORT_STATUS].title = "dcpid";
	return REPORT_COUNT;
}

static void
render_findings(const struct view_page *page, const json_t *report)
{
	const json_t *finding;
	struct html *out = page->out;
	size_t i;

	html(out,
	     "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Findings\"><table>\n"
	     "<caption>What the doctor found, the worst first</caption>\n<thead><tr><th scope=\"col\">Severity</th>"
	     "<th scope=\"col\">Finding</th><th scope=\"col\">What to do</th></tr></thead>\n<tbody>\n");
	json_array_foreach (json_object_get(report, "findings"), i, finding) {
		const char *severity = view_text(finding, "severity");

		html(out, "<tr");
		html_attribute(out, "class", severity);
		html(out, "><th scope=\"row\">");
		html_text(out, severity);
		html(out, "</th><td>");
		html_text(out, view_text(finding, "text"));
		html(out, "</td><td><code>");
		html_text(out, view_text(finding, "mend"));
		html(out, "</code></td></tr>\n");
	}
	html(out, "</tbody></table></div>\n");
}

static void
render_status(const struct view_page *page, const json_t *status)
{
	const json_t *event;
	struct html *out = page->out;
	size_t i;

	html(out, "<p>dcpid ");
	html_text(out, view_text(status, "version"));
	html(out, " has collected since ");
	html_text(out, view_text(status, "since"));
	html(out,
	     ".</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Events\"><table>\n"
	     "<caption>What is counted in this epoch</caption>\n<thead><tr><th scope=\"col\">Event</th>"
	     "<th scope=\"col\" class=\"number\">Samples/s per CPU</th><th scope=\"col\" class=\"number\">us each</th>"
	     "<th scope=\"col\" class=\"number\">Samples</th><th scope=\"col\" class=\"number\">Lost</th>"
	     "<th scope=\"col\">Note</th></tr></thead>\n<tbody>\n");
	json_array_foreach (json_object_get(status, "events"), i, event) {
		html(out, "<tr><th scope=\"row\">");
		html_text(out, view_text(event, "name"));
		html(out, "</th><td class=\"number\">");
		html_real(out, view_number(event, "rate"), 0);
		html(out, "</td><td class=\"number\">");
		if (view_has(event, "cost_ns"))
			html_real(out, view_number(event, "cost_ns") / 1000, 1);
		html(out, "</td><td class=\"number\">");
		html_count(out, (uint64_t)fmax(view_number(event, "samples"), 0));
		html(out, "</td><td class=\"number\">");
		html_count(out, (uint64_t)fmax(view_number(event, "lost"), 0));
		html(out, "</td><td>");
		html_text(out, view_text(event, "note"));
		html(out, "</td></tr>\n");
	}
	html(out, "</tbody></table></div>\n");
}

static void
health_render(const struct view_page *page)
{
	const struct view_report *status = &page->reports[REPORT_STATUS];
	struct html *out = page->out;

	html(out, "<section aria-labelledby=\"doctor\"><h2 id=\"doctor\">What is in the way</h2>\n");
	render_findings(page, page->reports[REPORT_DOCTOR].json);
	html(out, "</section>\n<section aria-labelledby=\"dcpid\"><h2 id=\"dcpid\">What dcpid does</h2>\n");
	if (status->json)
		render_status(page, status->json);
	else
		view_errors(page, status);
	html(out, "</section>\n");
}

const struct view view_health = {
	.path = "/health",
	.title = "Health",
	.about = "What is collected here, at what cost, and what is in the way.",
	.keeps = 0,
	.commands = health_commands,
	.render = health_render,
};
