#include "dcpi-tools/cat/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/symbolizer.h"

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
cat_image_of(const struct report *report, const struct cat_image *image)
{
	return report->selection->images[image->index].image;
}

uint64_t
cat_row_samples(const struct report *report, const struct cat_row *row, size_t column)
{
	const struct selection_count *counts = &report->selection->counts[row->first];
	uint64_t samples = 0;

	for (size_t i = 0; i < row->count; i++)
		if (counts[i].event == report->columns.events[column])
			samples += counts[i].count;
	return samples;
}

uint64_t
cat_image_samples(const struct report *report, const struct cat_image *image, size_t column)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < image->row_count; i++)
		samples += cat_row_samples(report, &report->rows[image->first_row + i], column);
	return samples;
}

static int
choose_columns(struct report *report, const char *directory)
{
	char why[1024];
	int err;

	err = columns_choose(report->selection, &report->request->columns, &report->columns, why, sizeof(why));
	if (!err)
		return 0;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

static int
choose_images(struct report *report)
{
	const struct request *request = report->request;
	const struct image_request images = {
		.patterns = request->options.images,
		.count = request->options.image_count,
		.event = report->columns.events[0],
	};

	report->titles = image_titles(report->selection);
	if (!report->titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(report->selection, report->titles, &images, &report->wanted);
}

static bool
has_samples(const struct report *report, const struct cat_row *row)
{
	for (size_t i = 0; i < report->columns.count; i++)
		if (cat_row_samples(report, row, i) > 0)
			return true;
	return false;
}

/* The image of the row that is added next; its rows follow one another, as the selection's counts do. */
static void
add_to_image(struct report *report, uint32_t index)
{
	struct cat_image *last = report->image_count ? &report->images[report->image_count - 1] : NULL;

	if (!last || last->index != index) {
		last = &report->images[report->image_count++];
		*last = (struct cat_image){.index = index, .first_row = report->row_count};
	}
	last->row_count++;
}

static int
make_rows(struct report *report)
{
	const struct selection *selection = report->selection;
	size_t next;

	report->rows = calloc(selection->count_count + 1, sizeof(*report->rows));
	report->images = calloc(selection->image_count + 1, sizeof(*report->images));
	if (!report->rows || !report->images)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count_count; i = next) {
		const struct selection_count *count = &selection->counts[i];
		struct cat_row row = {.offset = count->offset, .first = i};

		for (next = i; next < selection->count_count; next++)
			if (selection->counts[next].image != count->image ||
			    selection->counts[next].offset != count->offset)
				break;
		row.count = next - i;
		if ((report->wanted && !report->wanted[count->image]) || !has_samples(report, &row))
			continue;
		add_to_image(report, count->image);
		report->rows[report->row_count++] = row;
	}
	return 0;
}

static int
compare_images(const void *a, const void *b, void *context)
{
	const struct cat_image *left = a, *right = b;
	const struct report *report = context;
	int order = strcmp(report->titles[left->index], report->titles[right->index]);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

static void
add_up(struct report *report)
{
	for (size_t i = 0; i < report->image_count; i++)
		for (size_t column = 0; column < report->columns.count; column++)
			report->totals[report->columns.events[column]] +=
				cat_image_samples(report, &report->images[i], column);
}

static struct cat_procedure *
add_procedure(struct report *report)
{
	if (report->procedure_count == report->procedure_capacity) {
		size_t capacity = report->procedure_capacity ? 2 * report->procedure_capacity : 256;
		struct cat_procedure *more = reallocarray(report->procedures, capacity, sizeof(*more));

		if (!more)
			return NULL;
		report->procedures = more;
		report->procedure_capacity = capacity;
	}
	return &report->procedures[report->procedure_count++];
}

static int
name_image(struct report *report, const struct cat_image *image, struct symbolizer *symbolizer)
{
	const struct selection_image *which = &report->selection->images[image->index];
	struct procedure last = {0};

	for (size_t i = 0; i < image->row_count; i++) {
		struct cat_row *row = &report->rows[image->first_row + i];
		struct cat_procedure *named;
		struct procedure procedure;
		int err = symbolizer_find(symbolizer, which, row->offset, &procedure);

		if (err)
			return err;
		row->procedure = report->procedure_count - 1;
		if (i > 0 && procedure.kind == last.kind && procedure.offset == last.offset)
			continue;
		last = procedure;
		named = add_procedure(report);
		if (!named)
			return -ENOMEM;
		row->procedure = report->procedure_count - 1;
		*named = (struct cat_procedure){.base = procedure.offset};
		if (procedure.kind > PROCEDURE_UNNAMED)
			continue;
		named->title = procedure_title(&procedure, which->image, report->request->demangle);
		if (!named->title)
			return -ENOMEM;
	}
	return 0;
}

static int
name_rows(struct report *report, struct profile *profile)
{
	struct symbolizer *symbolizer;
	int err = 0;

	if (!report->request->names)
		return 0;
	symbolizer = symbolizer_new(profile);
	if (!symbolizer)
		return -ENOMEM;
	for (size_t i = 0; i < report->image_count && !err; i++)
		err = name_image(report, &report->images[i], symbolizer);
	symbolizer_free(symbolizer);
	return err;
}

int
report_make(struct report *report, const struct request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = choose_columns(report, database->directory);
	if (!status)
		status = choose_images(report);
	if (status)
		return status;
	err = make_rows(report);
	if (!err)
		err = name_rows(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	if (report->row_count == 0) {
		message_print(database->directory, "no samples in what was selected");
		return STATUS_EMPTY;
	}
	qsort_r(report->images, report->image_count, sizeof(*report->images), compare_images, report);
	add_up(report);
	return STATUS_OK;
}

void
report_fini(struct report *report)
{
	for (size_t i = 0; i < report->procedure_count; i++)
		free(report->procedures[i].title);
	free(report->procedures);
	free(report->rows);
	free(report->images);
	image_titles_free(report->titles, report->selection ? report->selection->image_count : 0);
	free(report->wanted);
	selection_free(report->selection);
}
