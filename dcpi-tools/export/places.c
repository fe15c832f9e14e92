#include <errno.h>
#include <stdlib.h>

#include "analysis/code_image.h"
#include "base/array.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/procedure_choice.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/export/report.h"
#include "image/lines.h"

#define PAGE UINT64_C(4096)

/* An image's file while it is open. */
struct opened {
	struct code_image code;
	struct image_lines *lines; /* NULL: there are none */
};

/* In the present stretch, or in a new one from `start` to `end` - 1. */
static int
lay_out(struct report *report, size_t index, uint64_t start, uint64_t end)
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
lay_out_pages(struct report *report, size_t first, size_t end)
{
	const struct sampled_offset *points = report->points.points;
	int err = 0;

	for (size_t i = first; i < end && !err; i++) {
		report->places[i].address = points[i].offset;
		err = lay_out(report, i, points[i].offset & ~(PAGE - 1), (points[end - 1].offset & ~(PAGE - 1)) + PAGE);
	}
	return err;
}

static int
find_place(struct report *report, const struct opened *opened, size_t index)
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
	if (!opened->lines || image_lines_find(opened->lines, place->address, &source))
		return 0;
	place->line = source.line;
	return strings_add(report->strings, source.path, &place->file);
}

/* Those from `start` to `end` - 1, which are of one image. */
static int
find_in_image(struct report *report, size_t start, size_t end)
{
	struct opened opened = {.lines = NULL};
	int err;

	err = code_image_open(&opened.code, report->choice.selection, report->points.points[start].image);
	if (err)
		return err == -ENOMEM ? err : lay_out_pages(report, start, end);
	err = report->request->lines ? image_lines_new(opened.code.file, &opened.lines) : 0;
	if (err != -ENOMEM)
		err = 0;
	for (size_t i = start; i < end && !err; i++)
		err = find_place(report, &opened, i);
	image_lines_free(opened.lines);
	code_image_close(&opened.code);
	return err;
}

/* A fault in there is the file's. */
static int
find_guarded(struct report *report, size_t start, size_t end)
{
	const uint32_t image = report->points.points[start].image;
	char *shown = text_shown(report->choice.selection->images[image].image->path);
	struct guard guard = procedure_guard(shown);
	int err;

	guard.advice = "leave its lines out with --no-lines";
	guard_enter(&guard);
	err = find_in_image(report, start, end);
	guard_leave(&guard);
	free(shown);
	return err;
}

static size_t
end_of_image(const struct sample_points *points, size_t start)
{
	size_t end = start;

	while (end < points->count && points->points[end].image == points->points[start].image)
		end++;
	return end;
}

int
export_report_find_places(struct report *report)
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
		end = end_of_image(points, start);
		progress_show(&progress, start, points->count);
		err = find_guarded(report, start, end);
	}
	progress_end(&progress);
	return err;
}
