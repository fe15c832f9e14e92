#include "dcpi-tools/cat/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *
cat_kind(const struct image *image)
{
	static const char *const kinds[IMAGE_KINDS] = {
		[IMAGE_UNKNOWN] = "unknown", [IMAGE_USER] = "user", [IMAGE_KERNEL] = "kernel",
		[IMAGE_MODULE] = "module",   [IMAGE_VDSO] = "vdso", [IMAGE_JIT] = "jit",
		[IMAGE_ANON] = "anon",
	};

	return (unsigned)image->kind < IMAGE_KINDS ? kinds[image->kind] : "unknown";
}

const struct image *
cat_image_of(const struct cat_report *report, const struct cat_image *image)
{
	return report->choice.selection->images[image->index].image;
}

uint64_t
cat_row_samples(const struct cat_report *report, const struct sampled_offset *row, size_t column)
{
	return sample_points_samples(&report->points, row, report->choice.columns.events[column]);
}

const char *
cat_row_procedure(const struct cat_report *report, const struct sampled_offset *row, uint64_t *base)
{
	const struct sample_procedure *procedure = &report->points.procedures[row->procedure];

	if (procedure->procedure.kind > PROCEDURE_UNNAMED)
		return NULL;
	*base = procedure->procedure.offset;
	return procedure->title;
}

uint64_t
cat_image_samples(const struct cat_report *report, const struct cat_image *image, size_t column)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < image->row_count; i++)
		samples += cat_row_samples(report, &report->points.points[image->first_row + i], column);
	return samples;
}

/* The rows of an image follow one another. */
static int
find_images(struct cat_report *report)
{
	report->images = calloc(report->choice.selection->image_count + 1, sizeof(*report->images));
	if (!report->images)
		return -ENOMEM;
	for (size_t i = 0; i < report->points.count; i++) {
		const struct sampled_offset *point = &report->points.points[i];

		if (i == 0 || point[-1].image != point->image)
			report->images[report->image_count++] =
				(struct cat_image){.index = point->image, .first_row = i};
		report->images[report->image_count - 1].row_count++;
	}
	return 0;
}

static int
compare_images(const void *a, const void *b, void *context)
{
	const struct cat_image *left = a, *right = b;
	const struct cat_report *report = context;
	int order = strcmp(report->choice.titles[left->index], report->choice.titles[right->index]);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

static int
make_rows(struct cat_report *report, struct profile *profile)
{
	struct sample_points_request request = {
		.selection = report->choice.selection,
		.wanted = report->choice.wanted,
		.columns = &report->choice.columns,
		.demangle = report->request->demangle,
	};
	int err;

	if (report->request->names)
		request.symbolizer = symbolizer_new(profile);
	err = !report->request->names || request.symbolizer ? sample_points_make(&request, &report->points) : -ENOMEM;
	symbolizer_free(request.symbolizer);
	return err ? err : find_images(report);
}

int
cat_report_make(struct cat_report *report, const struct cat_request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = report_choose(&report->choice, database, &request->options, &request->columns);
	if (status)
		return status;
	err = make_rows(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	if (report->points.count == 0)
		return report_choice_empty(database);
	qsort_r(report->images, report->image_count, sizeof(*report->images), compare_images, report);
	for (size_t i = 0; i < report->image_count; i++)
		for (size_t column = 0; column < report->choice.columns.count; column++)
			report->totals[report->choice.columns.events[column]] +=
				cat_image_samples(report, &report->images[i], column);
	return STATUS_OK;
}

void
cat_report_fini(struct cat_report *report)
{
	free(report->images);
	sample_points_fini(&report->points);
	report_choice_fini(&report->choice);
}
