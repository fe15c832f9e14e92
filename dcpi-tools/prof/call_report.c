#include "dcpi-tools/prof/call_report.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"

#define HOT_PERCENT 5 /* lines from here on are coloured */
#define INDENT      2 /* columns */

/* ---- lines ---- */

static const struct call_tree *
shown_tree(const struct call_report *report)
{
	return report->request->procedure ? &report->of_procedure : &report->tree;
}

static struct call_line *
add_line(struct call_report *report)
{
	return ARRAY_APPEND(report->lines, report->line_count, report->line_capacity);
}

static bool
is_shown(const struct call_report *report, uint64_t samples)
{
	return summary_percent(samples, report->all) >= report->request->least_percent;
}

/*
 * Add the lines of what is below `parent`. Nodes that have no siblings stand below their caller without an indent, so
 * that deep stacks fit a line. Recursive: no stack has more than STACK_DEPTH_MAX frames.
 */
static int
add_nodes(struct call_report *report, uint32_t parent, uint32_t depth, uint32_t level)
{
	const struct call_tree *tree = shown_tree(report);
	struct call_line rest = {.has_siblings = true, .level = level}, *added;
	uint32_t shown = 0;
	int err = 0;

	for (uint32_t at = tree->nodes[parent].first_child; at; at = tree->nodes[at].next_sibling) {
		shown += is_shown(report, tree->nodes[at].total);
		if (is_shown(report, tree->nodes[at].total))
			continue;
		rest.left_out++;
		rest.samples += tree->nodes[at].total;
	}
	if (!shown)
		return 0; /* the caller's own line has all of their samples */
	rest.depth = depth + (shown + (rest.left_out > 0) > 1);
	for (uint32_t at = tree->nodes[parent].first_child; !err && at; at = tree->nodes[at].next_sibling) {
		if (!is_shown(report, tree->nodes[at].total))
			continue;
		added = add_line(report);
		if (!added)
			return -ENOMEM;
		*added = (struct call_line){
			.index = at,
			.depth = rest.depth,
			.level = level,
			.samples = tree->nodes[at].total,
			.own = tree->nodes[at].own,
			.has_siblings = rest.depth > depth,
		};
		err = add_nodes(report, at, rest.depth, level + 1);
	}
	if (err || rest.left_out == 0)
		return err;
	added = add_line(report);
	if (!added)
		return -ENOMEM;
	*added = rest;
	return 0;
}

static int
compare_frames(const void *left, const void *right, void *context)
{
	const struct call_tree *tree = context;
	const struct call_line *a = left, *b = right;
	int order;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	if (a->own != b->own)
		return a->own > b->own ? -1 : 1;
	order = strcmp(tree->frames[a->index].title, tree->frames[b->index].title);
	return order ? order : strcmp(tree->frames[a->index].image_title, tree->frames[b->index].image_title);
}

/* A procedure each. Those with few samples come last anyway, so they are not added up. */
static int
add_frames(struct call_report *report)
{
	const struct call_tree *tree = &report->tree;

	for (size_t i = 0; i < tree->frame_count; i++) {
		const struct call_frame *frame = &tree->frames[i];
		struct call_line *added;

		if (!frame->image_title || !is_shown(report, frame->inclusive) ||
		    (report->choice.wanted && !report->choice.wanted[frame->image]))
			continue;
		added = add_line(report);
		if (!added)
			return -ENOMEM;
		*added = (struct call_line){.index = (uint32_t)i, .samples = frame->inclusive, .own = frame->own};
	}
	if (report->line_count > 0)
		qsort_r(report->lines, report->line_count, sizeof(*report->lines), compare_frames, &report->tree);
	return 0;
}

/* ---- the report ---- */

/* The frames that the user asked for. NULL: no memory. */
static bool *
find_procedure(const struct call_report *report, size_t *count)
{
	const struct call_tree *tree = &report->tree;
	bool *found = calloc(tree->frame_count + 1, sizeof(*found));

	*count = 0;
	for (size_t i = 0; found && i < tree->frame_count; i++) {
		const struct call_frame *frame = &tree->frames[i];

		found[i] = frame->image_title && (!report->choice.wanted || report->choice.wanted[frame->image]) &&
		           (strcmp(frame->title, report->request->procedure) == 0 ||
		            fnmatch(report->request->procedure, frame->title, 0) == 0);
		*count += found[i];
	}
	return found;
}

static int
no_procedure(const struct call_report *report, const struct database *database)
{
	const struct call_tree *tree = &report->tree;
	const char **names = calloc(tree->frame_count + 1, sizeof(*names)), *near = NULL;
	char shown[512], shown_near[512];
	size_t count = 0;

	for (size_t i = 0; names && i < tree->frame_count; i++)
		if (tree->frames[i].image_title)
			names[count++] = tree->frames[i].title;
	if (names)
		near = suggest_name(report->request->procedure, names, count);
	escape_text(report->request->procedure, shown, sizeof(shown));
	if (near)
		escape_text(near, shown_near, sizeof(shown_near));
	if (near)
		message_print(database->directory, "no call stack has a procedure '%s'; did you mean %s?", shown,
		              shown_near);
	else
		message_print(database->directory, "no call stack has a procedure '%s'; --inclusive lists them", shown);
	free(names);
	return STATUS_EMPTY;
}

static int
make_tree_of_procedure(struct call_report *report, const struct database *database)
{
	const bool is_callers = report->request->view == CALL_VIEW_CALLERS;
	size_t count;
	bool *found = find_procedure(report, &count);
	int status = STATUS_OK;

	if (found && count == 0)
		status = no_procedure(report, database);
	else if (!found ||
	         (is_callers ? call_tree_invert : call_tree_reroot)(&report->tree, found, &report->of_procedure))
		status = database_cannot_read(database, -ENOMEM);
	free(found);
	return status;
}

static int
make_tree(struct call_report *report, struct profile *profile)
{
	struct call_tree_request request = {
		.selection = report->choice.selection,
		.event = report->choice.shown_events.events[0],
		.wanted = report->request->view == CALL_VIEW_TREE ? report->choice.wanted : NULL,
		.image_titles = report->choice.titles,
		.symbolizer = symbolizer_new(profile),
		.demangle = report->request->demangle,
		.no_inline = report->request->no_inline,
	};
	const int err = request.symbolizer ? call_tree_make(&request, &report->tree) : -ENOMEM;

	symbolizer_free(request.symbolizer);
	return err;
}

/* Whether samples were taken, though the stack of none is known: the summary says why. */
static bool
has_only_unknown(const struct call_report *report)
{
	const struct options *options = report->request->options;
	const struct selection_event *event = &report->choice.selection->events[report->choice.shown_events.events[0]];

	return event->totals.samples > 0 && options->image_count == 0 && !report->request->procedure &&
	       !options->request.comm && !options->request.cgroup && !options->request.label;
}

int
call_report_make(struct call_report *report, const struct call_report_request *request,
                 const struct shown_events_request *events, struct database *database)
{
	int status, err;

	*report = (struct call_report){.request = request};
	status = report_choose(&report->choice, database, request->options, events);
	if (status)
		return status;
	report->choice.shown_events.count = 1; /* a tree has the order of one event */
	err = make_tree(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	if (report->tree.samples == 0 && !has_only_unknown(report))
		return report_choice_empty(database);
	if (request->procedure) {
		status = make_tree_of_procedure(report, database);
		if (status)
			return status;
	}
	report->all = shown_tree(report)->samples;
	report->totals[report->choice.shown_events.events[0]] = report->all;
	err = request->view == CALL_VIEW_INCLUSIVE ? add_frames(report) : add_nodes(report, 0, 0, 0);
	return err ? database_cannot_read(database, err) : STATUS_OK;
}

void
call_report_fini(struct call_report *report)
{
	call_tree_fini(&report->of_procedure);
	call_tree_fini(&report->tree);
	report_choice_fini(&report->choice);
	free(report->lines);
}

/* ---- how it is shown ---- */

static size_t
shown_count(const struct call_report *report)
{
	const size_t limit = report->request->limit;

	return limit > 0 && limit < report->line_count ? limit : report->line_count;
}

static const struct call_frame *
line_frame(const struct call_report *report, const struct call_line *line)
{
	const struct call_tree *tree = shown_tree(report);

	return &tree->frames[report->request->view == CALL_VIEW_INCLUSIVE ? line->index
	                                                                  : tree->nodes[line->index].frame];
}

static struct summary
report_summary(const struct call_report *report)
{
	return (struct summary){
		.selection = report->choice.selection,
		.request = &report->request->options->request,
		.shown_events = &report->choice.shown_events,
		.stacks = &report->tree,
		.totals = report->totals,
		.shown = shown_count(report),
		.row_count = report->line_count,
	};
}

static const char *
event_name(const struct call_report *report)
{
	return shown_events_event(report->choice.selection, &report->choice.shown_events, 0)->name;
}

/* What the second pair of columns has. */
static const char *
own_heading(const struct call_report *report)
{
	return report->request->view == CALL_VIEW_CALLERS ? "first" : "own";
}

static struct table *
make_table(const struct call_report *report)
{
	const struct table_column columns[] = {
		{.heading = event_name(report), .align = TABLE_RIGHT, .min_width = 7},
		{.heading = "%", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = own_heading(report), .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "%", .align = TABLE_RIGHT, .gap = 1, .min_width = 7},
		{.heading = "procedure", .cut = TABLE_CUT_END, .gap = 1, .max_width = 72},
		{.heading = "image", .cut = TABLE_CUT_START, .gap = 2},
	};

	return table_new(columns, sizeof(columns) / sizeof(columns[0]));
}

static void
add_share(const struct call_report *report, struct table *table, uint64_t samples)
{
	const double percent = summary_percent(samples, report->all);

	table_format(table, STYLE_PLAIN, "%" PRIu64, samples);
	table_format(table, percent >= HOT_PERCENT ? STYLE_HOT : STYLE_PLAIN, "%.2f%%", percent);
}

static void
fill_table(const struct call_report *report, struct table *table)
{
	for (size_t i = 0; i < shown_count(report); i++) {
		const struct call_line *line = &report->lines[i];
		const int indent = (int)(INDENT * (line->depth - line->has_siblings));
		const struct call_frame *frame = line->left_out ? NULL : line_frame(report, line);

		add_share(report, table, line->samples);
		if (frame) {
			add_share(report, table, line->own);
			table_format(table, frame->image_title ? STYLE_PLAIN : STYLE_WARNING, "%*s%s%s", indent, "",
			             line->has_siblings ? "- " : "", frame->title);
			table_text(table, STYLE_PLAIN, frame->image_title ? frame->image_title : "");
		} else {
			table_text(table, STYLE_PLAIN, "");
			table_text(table, STYLE_PLAIN, "");
			table_format(table, STYLE_FAINT, "%*s- [%" PRIu32 " more]", indent, "", line->left_out);
			table_text(table, STYLE_PLAIN, "");
		}
	}
}

static void
print_totals(const struct call_report *report, FILE *stream)
{
	const struct selection_event *event =
		shown_events_event(report->choice.selection, &report->choice.shown_events, 0);

	fprintf(stream, "Call stacks of %" PRIu64 " samples (", report->tree.samples);
	text_print(event->name, stream);
	fputs(")", stream);
	if (report->request->procedure) {
		fprintf(stream, ", %" PRIu64 " of them (%.2f%%) in ", report->all,
		        summary_percent(report->all, report->tree.samples));
		text_print(report->request->procedure, stream);
		fputs(report->request->view == CALL_VIEW_CALLERS
		              ? " or in what it calls; callers stand below what they call"
		              : " or in what it calls, which stands below it",
		      stream);
	}
	fputc('\n', stream);
}

int
call_report_print_text(const struct call_report *report, const struct output *output)
{
	const bool header = report->request->options->header;
	const struct summary summary = report_summary(report);
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	fill_table(report, table);
	if (header) {
		print_totals(report, output->stream);
		table_print_rule(table, output);
	}
	err = table_print(table, output, header);
	if (!err && header)
		summary_print(&summary, output);
	table_free(table);
	return err;
}

int
call_report_print_csv(const struct call_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options->header) {
		csv_text(&csv, "level");
		csv_text(&csv, event_name(report));
		csv_text(&csv, "percent");
		csv_text(&csv, own_heading(report));
		csv_text(&csv, "procedure");
		csv_text(&csv, "image");
		csv_end(&csv);
	}
	for (size_t i = 0; !err && i < shown_count(report); i++) {
		const struct call_line *line = &report->lines[i];
		const struct call_frame *frame;

		if (line->left_out)
			continue;
		frame = line_frame(report, line);
		csv_number(&csv, line->level);
		csv_number(&csv, line->samples);
		csv_real(&csv, summary_percent(line->samples, report->all), 2);
		csv_number(&csv, line->own);
		err = csv_shown(&csv, frame->title);
		if (!err)
			err = csv_shown(&csv, frame->image_title);
		csv_end(&csv);
	}
	return err;
}

/* ---- schema dcpiprof.calls/1 ---- */

static json_t *
line_json(const struct call_report *report, const struct call_line *line)
{
	const struct call_frame *frame;

	if (line->left_out)
		return json_pack("{s:i, s:o, s:i}", "level", (int)line->level, "samples", json_count(line->samples),
		                 "left_out", (int)line->left_out);
	frame = line_frame(report, line);
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "level", (int)line->level, "procedure", json_shown(frame->title),
	                 "image", json_shown(frame->image_title), "samples", json_count(line->samples),
	                 own_heading(report), json_count(line->own));
}

static json_t *
truncated_json(const struct call_tree *tree)
{
	json_t *causes = json_object();
	int failed = !causes;

	for (uint32_t at = tree->nodes[0].first_child; at; at = tree->nodes[at].next_sibling) {
		const struct call_frame *frame = &tree->frames[tree->nodes[at].frame];

		if (!frame->image_title)
			failed |= json_object_set_new(causes, stack_end_name(frame->end),
			                              json_count(tree->nodes[at].total));
	}
	return json_kept(causes, failed);
}

int
call_report_print_json(const struct call_report *report, FILE *stream)
{
	static const char *const views[] = {
		[CALL_VIEW_TREE] = "tree",
		[CALL_VIEW_CALLERS] = "callers",
		[CALL_VIEW_CALLEES] = "callees",
		[CALL_VIEW_INCLUSIVE] = "inclusive",
	};
	const struct summary summary = report_summary(report);
	json_t *root = json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema", "dcpiprof.calls/1", "view",
	                         views[report->request->view], "stacks", json_count(report->tree.samples), "samples",
	                         json_count(report->all), "truncated", truncated_json(&report->tree));
	json_t *rows = json_array();
	int failed = !root || !rows;

	failed |= summary_json_events(&summary, root);
	for (size_t i = 0; i < shown_count(report); i++)
		failed |= json_array_append_new(rows, line_json(report, &report->lines[i]));
	failed |= json_object_set_new(root, "rows", rows);
	failed |= summary_json_totals(&summary, root);
	return json_print(json_kept(root, failed), stream);
}
