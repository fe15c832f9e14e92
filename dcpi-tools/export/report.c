#include "dcpi-tools/export/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/code_image.h"
#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "image/lines.h"

#define PAGE UINT64_C(4096)

/* An image's file while it is open. */
struct export_image {
	struct code_image code;
	struct image_lines *lines; /* NULL: there are none */
};

/* In the present stretch, or in a new one from `start` to `end` - 1. */
static int
lay_out(struct export_report *report, size_t index, uint64_t start, uint64_t end)
{
	const struct sampled_offset *point = &report->points.points[index];
	struct export_stretch *last = report->stretch_count ? &report->stretches[report->stretch_count - 1] : NULL;

	if (!last || last->image != point->image || point->offset >= last->end) {
		struct export_stretch *grown = array_grow(report->stretches, &report->stretch_capacity,
		                                          report->stretch_count + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		report->stretches = grown;
		grown[report->stretch_count++] = (struct export_stretch){start, end, point->image};
	}
	report->places[index].stretch = (uint32_t)report->stretch_count - 1;
	return 0;
}

/* All pages that were sampled, as one; those from point `first` to `end` - 1 are of one image. */
static int
lay_out_pages(struct export_report *report, size_t first, size_t end)
{
	const struct sampled_offset *points = report->points.points;
	int err = 0;

	for (size_t i = first; i < end && !err; i++) {
		report->places[i].address = points[i].offset;
		err = lay_out(report, i, points[i].offset & ~(PAGE - 1), (points[end - 1].offset & ~(PAGE - 1)) + PAGE);
	}
	return err;
}

/* What was inlined at a place. 0 or -ENOMEM. */
static int
find_inlined(struct export_report *report, struct image_lines *lines, struct export_place *place)
{
	struct inlined_call calls[INLINED_MAX];
	size_t count;
	int err = image_lines_inlined(lines, place->address, calls, &count);

	place->first_inlined = report->inlined_count;
	for (size_t i = 0; i < count && !err; i++) {
		const struct procedure procedure = {.kind = PROCEDURE_NAMED, .name = calls[i].name};
		char *title = procedure_title(&procedure, NULL, report->request->demangle);
		struct export_inlined *added =
			ARRAY_APPEND(report->inlined, report->inlined_count, report->inlined_capacity);

		err = title && added ? strings_add(report->strings, title, &added->title) : -ENOMEM;
		free(title);
		if (!err)
			err = strings_add(report->strings, calls[i].name, &added->linked);
		if (!err && report->request->lines && calls[i].call.path) {
			added->call_line = calls[i].call.line;
			err = strings_add(report->strings, calls[i].call.path, &added->call_file);
		}
		place->inlined_count++;
	}
	return err;
}

static int
find_place(struct export_report *report, const struct export_image *opened, size_t index)
{
	const uint64_t offset = report->points.points[index].offset;
	struct export_place *place = &report->places[index];
	struct source_place source;
	uint64_t start, end;
	int err;

	if (image_file_segment(opened->code.file, offset, &start, &end)) { /* not even code */
		place->address = offset;
		return lay_out(report, index, offset, offset + 1);
	}
	err = lay_out(report, index, start, end);
	if (err)
		return err;
	image_file_address(opened->code.file, offset, &place->address);
	if (opened->lines && report->has_inlined)
		err = find_inlined(report, opened->lines, place);
	if (err || !report->request->lines || !opened->lines ||
	    image_lines_find(opened->lines, place->address, &source))
		return err;
	place->line = source.line;
	return strings_add(report->strings, source.path, &place->file);
}

/* Points `start` to `end` - 1, which are of one image. */
static int
find_in_image(struct export_report *report, size_t start, size_t end)
{
	struct export_image opened = {.lines = NULL};
	int err;

	err = code_image_open(&opened.code, report->choice.selection, report->points.points[start].image);
	if (err)
		return err == -ENOMEM ? err : lay_out_pages(report, start, end);
	err = report->request->lines || report->has_inlined ? image_lines_new(opened.code.file, &opened.lines) : 0;
	if (err != -ENOMEM)
		err = 0;
	for (size_t i = start; i < end && !err; i++)
		err = find_place(report, &opened, i);
	image_lines_free(opened.lines);
	code_image_close(&opened.code);
	return err;
}

/* A fault while it is read is the fault of a damaged file. */
static int
find_guarded(struct export_report *report, size_t start, size_t end)
{
	const uint32_t image = report->points.points[start].image;
	struct image_guard guard;
	int err;

	image_guard_enter(&guard, report->choice.selection->images[image].image->path,
	                  "leave its lines and what was inlined out with --no-lines --no-inline");
	err = find_in_image(report, start, end);
	image_guard_leave(&guard);
	return err;
}

/* Addresses, stretches and source lines of all points. 0, or -ENOMEM. */
static int
find_places(struct export_report *report)
{
	const struct sample_points *points = &report->points;
	struct progress progress;
	int err = 0;

	report->strings = strings_new();
	report->places = calloc(points->count + 1, sizeof(*report->places));
	if (!report->strings || !report->places)
		return -ENOMEM;
	progress_begin(&progress, "of the sampled places looked up");
	for (size_t start = 0, end; start < points->count && !err; start = end) {
		end = start;
		while (end < points->count && points->points[end].image == points->points[start].image)
			end++;
		progress_show(&progress, start, points->count);
		err = find_guarded(report, start, end);
	}
	progress_end(&progress);
	return err;
}

/* The stacks that were sampled: counts are sorted by node. */
static int
find_stacks(struct export_report *report, const struct sample_points_request *request)
{
	const struct selection *selection = report->choice.selection;
	struct export_stack *last = NULL;

	report->stacks = calloc(selection->count_count + 1, sizeof(*report->stacks));
	if (!report->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count_count; i++) {
		const uint32_t node = (uint32_t)selection->counts[i].offset;

		if (last && last->node == node) {
			last->end = i + 1;
		} else if (sample_points_has_stack(request, &selection->counts[i])) {
			last = &report->stacks[report->stack_count++];
			*last = (struct export_stack){.node = node, .first = i, .end = i + 1};
		}
	}
	return 0;
}

uint64_t
export_stack_samples(const struct export_report *report, const struct export_stack *stack, uint16_t event)
{
	const struct selection_count *counts = report->choice.selection->counts;

	for (size_t i = stack->first; i < stack->end; i++)
		if (counts[i].event == event)
			return counts[i].count;
	return 0;
}

const char *
export_truncated(const struct stack_node *node, char text[EXPORT_TRUNCATED_SIZE])
{
	snprintf(text, EXPORT_TRUNCATED_SIZE, "[truncated: %s]", stack_end_name((unsigned)node->offset));
	return text;
}

static int
find_points(struct export_report *report, struct profile *profile)
{
	struct sample_points_request request = {
		.selection = report->choice.selection,
		.wanted = report->choice.wanted,
		.shown_events = &report->choice.shown_events,
		.symbolizer = symbolizer_new(profile),
		.demangle = report->request->demangle,
	};
	int err;

	err = request.symbolizer ? sample_points_make(&request, &report->points) : -ENOMEM;
	symbolizer_free(request.symbolizer);
	if (!err && report->request->options.request.stacks)
		err = find_stacks(report, &request);
	if (!err)
		err = find_places(report);
	return err;
}

uint64_t
export_report_unknown(const struct export_report *report, uint16_t event, unsigned cause)
{
	return report->has_unknown ? report->choice.selection->events[event].totals.unknown[cause] : 0;
}

/* Unknown samples have no image and no context, so they are of no selection by these. */
static void
add_up(struct export_report *report)
{
	const struct options *options = &report->request->options;

	report->has_unknown = options->image_count == 0 && !options->request.comm && !options->request.cgroup &&
	                      !options->request.label;
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const uint16_t event = report->choice.shown_events.events[i];

		for (size_t j = 0; j < report->points.count; j++)
			report->written[event] +=
				sample_points_samples(&report->points, &report->points.points[j], event);
		for (size_t j = 0; j < report->stack_count; j++)
			report->written[event] += export_stack_samples(report, &report->stacks[j], event);
		for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++)
			report->written[event] += export_report_unknown(report, event, cause);
	}
}

int
export_report_make(struct export_report *report, const struct export_request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	report->has_inlined = request->options.request.stacks && !request->no_inline;
	status = report_choose(&report->choice, database, &request->options, &request->shown_events);
	if (status)
		return status;
	err = find_points(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	add_up(report);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		if (report->written[report->choice.shown_events.events[i]] > 0)
			return STATUS_OK;
	return report_choice_empty(database);
}

void
export_report_fini(struct export_report *report)
{
	strings_free(report->strings);
	free(report->places);
	free(report->stretches);
	free(report->stacks);
	free(report->inlined);
	sample_points_fini(&report->points);
	report_choice_fini(&report->choice);
}

static const struct export_form_row {
	const char *name;
	int (*write)(const struct export_report *report, FILE *stream);
	bool is_binary;
} forms[EXPORT_FORMS] = {
	[EXPORT_PPROF] = {"pprof", export_write_pprof, true},
	[EXPORT_FOLDED] = {"folded", export_write_folded, false},
	[EXPORT_CALLGRIND] = {"callgrind", export_write_callgrind, false},
};

static int
write_form(const struct export_report *report, const struct export_form_row *form, const char *path)
{
	struct atomic_file file;
	int err;

	err = atomic_file_open(&file, path);
	if (!err && form->is_binary && isatty(fileno(file.stream))) {
		atomic_file_close(&file, -EINVAL);
		message_print(path, "a pprof profile is no text for a terminal: name a file, or a pipe behind it");
		return STATUS_USAGE;
	}
	if (!err)
		err = atomic_file_close(&file, form->write(report, file.stream));
	return err ? message_cannot(path, "write the profile", err, NULL) : STATUS_OK;
}

int
export_report_write(const struct export_report *report)
{
	for (unsigned form = 0; form < EXPORT_FORMS; form++) {
		const char *path = report->request->paths[form];
		const int status = path ? write_form(report, &forms[form], path) : STATUS_OK;

		if (status)
			return status;
	}
	return report->request->options.format == FORMAT_JSON ? TOOL_PRINTS : STATUS_OK;
}

static json_t *
files_json(const struct export_report *report)
{
	json_t *files = json_array();
	int failed = !files;

	for (unsigned form = 0; form < EXPORT_FORMS; form++)
		if (report->request->paths[form])
			failed |=
				json_array_append_new(files, json_pack("{s:s, s:o}", "format", forms[form].name, "path",
			                                               json_shown(report->request->paths[form])));
	return json_kept(files, failed);
}

static json_t *
samples_json(const struct export_report *report)
{
	json_t *samples = json_object();
	int failed = !samples;

	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const uint16_t event = report->choice.shown_events.events[i];

		failed |= json_object_set_new(samples, report->choice.selection->events[event].name,
		                              json_count(report->written[event]));
	}
	return json_kept(samples, failed);
}

int
export_report_print_json(const struct export_report *report, FILE *stream)
{
	json_t *root;
	int failed = 0;

	root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "dcpiexport/1", "start",
	                 json_time(report->choice.selection->start_ns), "end",
	                 json_time(report->choice.selection->end_ns), "files", files_json(report), "samples",
	                 samples_json(report), "procedures", json_count(report->points.procedure_count), "offsets",
	                 json_count(report->points.count));
	if (report->stacks)
		failed = json_object_set_new(root, "stacks", json_count(report->stack_count));
	return json_print(json_kept(root, failed), stream);
}
