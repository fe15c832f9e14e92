/*
 * view.h - the views: what each shows, by which reports
 *
 * A view has a row in the table of view.c: its URL, the command lines of its reports, and how these become HTML. At its
 * end a page has links to each report as text and JSON, or as a picture.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_WEB_VIEW_H
#define DCPI_TOOLS_WEB_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "dcpi-tools/web/command.h"
#include "dcpi-tools/web/html.h"
#include "dcpi-tools/web/query.h"

#define VIEW_REPORTS_MAX 5

/* A report of a view, read. */
struct view_report {
	const struct tool_command *command;
	const json_t *json; /* NULL: there is none, `errors` says why */
	const char *text;   /* of a picture */
	const char *errors; /* sentences; "" for none */
	int status;         /* exit status, negative when it did not run */
	bool is_missing;    /* it is not needed, and not there yet, or only linked */
};

struct view;

/* A page that is made. */
struct view_page {
	const struct view *view;
	const struct query *query;
	const struct query *links; /* what links to other views keep: the query, and what its view shows without one */
	const struct view_report *reports;
	size_t report_count;
	struct html *out;
};

/* A field of a view's form. */
struct view_field {
	enum query_field field;
	const char *label;
	const char *hint;    /* a placeholder; NULL: none */
	const char *choices; /* "image command cgroup": a list of values; NULL: any text */
};

struct view {
	const char *path;                /* of the URL: "/procedures" */
	const char *title;               /* heading and name in the navigation */
	const char *about;               /* a sentence below the heading */
	unsigned keeps;                  /* fields that links to it keep (QUERY_KEEPS) */
	bool is_hidden;                  /* not in the navigation: it needs a procedure */
	bool has_selection;              /* its form has the fields that select samples */
	bool has_sides;                  /* and those of the two sets of a comparison */
	bool shows_all;                  /* without a selection it shows all epochs, not only the latest one */
	const struct view_field *fields; /* of its form, the last one without a label; NULL: no form */

	/* Fill the command lines of its reports, those that are only linked last; returns how many. 0: the query lacks
	 * something, `why` says what. */
	size_t (*commands)(const struct query *query, const char *directory, struct tool_command *commands, char *why,
	                   size_t size);
	/* Write what stands in <main> below the heading. The first report is there. */
	void (*render)(const struct view_page *page);
};

/* NULL: there is no such view. */
const struct view *view_find(const char *path);

/* The whole page. */
void view_render(const struct view_page *page);

/* A page with a sentence instead: `status` is of HTTP; title is its name. Not of a view, if page->view is NULL. */
void view_render_error(struct html *out, const char *title, const char *sentence);

/* ---- for views ---- */

extern const struct view view_overview, view_procedures, view_calls, view_flame, view_calc, view_graph, view_stats,
	view_diff, view_health;

/* Whether the query names neither epochs nor a time. */
bool view_is_unselected(const struct query *query);

/* A link to a view with changed fields, which keeps the selection. */
void view_link(const struct view_page *page, const struct view *to, const struct query_change *changes, size_t count,
               const char *text);

/* A link to the listing of a procedure and one to its callers, or its name alone when it has none. */
void view_procedure_link(const struct view_page *page, const char *procedure, const char *image, const char *event);

/* A path, whose folder narrow screens leave out. */
void view_path(struct html *out, const char *path);

/* A link from `path` to the procedures of the image that `reference` selects. */
void view_image_link(const struct view_page *page, const char *path, const char *reference);

/* The sentences of a report that failed. */
void view_errors(const struct view_page *page, const struct view_report *report);

/* The picture that the first report is, in a region of this class and name that scrolls. */
void view_picture(const struct view_page *page, const char *class, const char *name);

/* "2026-11-21 14:30:00 UTC" of seconds since 1970. */
void view_time(struct html *out, double seconds);

/* Members of a JSON object: "" and 0 where there are none. */
const char *view_text(const json_t *object, const char *key);
double view_number(const json_t *object, const char *key);
bool view_has(const json_t *object, const char *key); /* and it is not null */

/* A CPU time share as a sentence: "0.34% of the machine's processor time". Nothing when it is not known. */
void view_samples_summary(const struct view_page *page, const json_t *report);

#endif
