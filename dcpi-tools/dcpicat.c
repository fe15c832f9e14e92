/*
 * dcpicat - a profile as text: the counts of each image, a line for each offset: man/dcpicat.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/sample_points.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "process/attribution.h"

const char *argp_program_version = "dcpicat " DCPI_VERSION;

/* What the user asked for. */
struct cat_request {
	struct options options;
	struct shown_events_request shown_events;
	bool names;    /* of procedures, too */
	bool demangle; /* these */
};

struct cat_image {
	uint32_t index; /* into selection->images */
	size_t first_row, row_count;
};

/* What is shown. */
struct cat_report {
	const struct cat_request *request;
	struct report_choice choice;
	uint64_t totals[SELECTION_EVENTS_MAX]; /* what the rows add up to, by event */
	struct cat_image *images;              /* with rows; by title */
	size_t image_count;
	struct sample_points points; /* the rows, by image and offset */
};

static const char *
cat_kind(const struct image *image)
{
	static const char *const kinds[IMAGE_KINDS] = {
		[IMAGE_UNKNOWN] = "unknown", [IMAGE_USER] = "user",     [IMAGE_KERNEL] = "kernel",
		[IMAGE_MODULE] = "module",   [IMAGE_VDSO] = "vdso",     [IMAGE_JIT] = "jit",
		[IMAGE_ANON] = "anon",       [IMAGE_STACKS] = "stacks",
	};

	return (unsigned)image->kind < IMAGE_KINDS ? kinds[image->kind] : "unknown";
}

static const struct image *
cat_image_of(const struct cat_report *report, const struct cat_image *image)
{
	return report->choice.selection->images[image->index].image;
}

static uint64_t
cat_row_samples(const struct cat_report *report, const struct sampled_offset *row, size_t column)
{
	return sample_points_samples(&report->points, row, report->choice.shown_events.events[column]);
}

/* The procedure of a row, not escaped; NULL: nothing is known, else *base: where it begins. */
static const char *
cat_row_procedure(const struct cat_report *report, const struct sampled_offset *row, uint64_t *base)
{
	const struct sample_procedure *procedure = &report->points.procedures[row->procedure];

	if (procedure->procedure.kind > PROCEDURE_UNNAMED)
		return NULL;
	*base = procedure->procedure.offset;
	return procedure->title;
}

static uint64_t
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
		.shown_events = &report->choice.shown_events,
		.demangle = report->request->demangle,
	};
	int err;

	if (report->request->names)
		request.symbolizer = symbolizer_new(profile);
	err = !report->request->names || request.symbolizer ? sample_points_make(&request, &report->points) : -ENOMEM;
	symbolizer_free(request.symbolizer);
	return err ? err : find_images(report);
}

static int
cat_report_make(struct cat_report *report, const struct cat_request *request, struct database *database)
{
	int status, err;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = report_choose(&report->choice, database, &request->options, &request->shown_events);
	if (status)
		return status;
	err = make_rows(report, database->profile);
	if (err)
		return database_cannot_read(database, err);
	if (report->points.count == 0)
		return report_choice_empty(database);
	qsort_r(report->images, report->image_count, sizeof(*report->images), compare_images, report);
	for (size_t i = 0; i < report->image_count; i++)
		for (size_t column = 0; column < report->choice.shown_events.count; column++)
			report->totals[report->choice.shown_events.events[column]] +=
				cat_image_samples(report, &report->images[i], column);
	return STATUS_OK;
}

static void
cat_report_fini(struct cat_report *report)
{
	free(report->images);
	sample_points_fini(&report->points);
	report_choice_fini(&report->choice);
}

/* ---- lines for scripts: their form is in the manual, and changes only with the number in the first ---- */

static void
print_event(const struct cat_report *report, uint16_t index, FILE *stream)
{
	const struct selection_event *event = &report->choice.selection->events[index];

	fputs("event ", stream);
	text_print(event->name, stream);
	fprintf(stream, " %" PRIu64 " %" PRIu64 " ", report->totals[index], event->period);
	text_print(event->unit, stream);
	fputc('\n', stream);
	if (event->is_weighted) {
		fputs("taken ", stream);
		text_print(event->name, stream);
		fprintf(stream, " %" PRIu64 "\n", event->totals_taken);
	}
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		if (event->totals.unknown[cause] == 0)
			continue;
		fputs("unknown ", stream);
		text_print(event->name, stream);
		fprintf(stream, " %" PRIu64 " %s\n", event->totals.unknown[cause], unknown_cause_name(cause));
	}
}

static void
print_epoch(const struct epoch *epoch, FILE *stream)
{
	fprintf(stream, "epoch %" PRIu32 " ", epoch->id);
	text_print(epoch->host[0] ? epoch->host : "-", stream);
	fputc(' ', stream);
	text_print(epoch->label[0] ? epoch->label : "-", stream);
	fputc('\n', stream);
}

static void
print_head(const struct cat_report *report, FILE *stream)
{
	const struct selection *selection = report->choice.selection;

	fputs("dcpicat 1\n", stream);
	fprintf(stream, "start %" PRIu64 "\n", selection->start_ns / SECOND_NS);
	fprintf(stream, "end %" PRIu64 "\n", selection->end_ns / SECOND_NS);
	for (size_t i = 0; i < selection->epoch_count; i++)
		print_epoch(&selection->epochs[i], stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		print_event(report, report->choice.shown_events.events[i], stream);
}

static void
print_image(const struct cat_report *report, const struct cat_image *image, FILE *stream)
{
	const struct image *which = cat_image_of(report, image);
	char build_id[BUILD_ID_TEXT_SIZE];

	fputs("\nimage ", stream);
	text_print(which->path, stream);
	fprintf(stream, "\nkind %s\n", cat_kind(which));
	if (which->build_id_size > 0)
		fprintf(stream, "build-id %s\n", build_id_format(which, build_id));
	fputs("samples", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(stream, " %" PRIu64, cat_image_samples(report, image, i));
	fputc('\n', stream);
}

static void
print_row(const struct cat_report *report, const struct sampled_offset *row, FILE *stream)
{
	fprintf(stream, "0x%" PRIx64, row->offset);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(stream, " %" PRIu64, cat_row_samples(report, row, i));
	if (report->request->names) {
		uint64_t base;
		const char *procedure = cat_row_procedure(report, row, &base);

		fputc(' ', stream);
		text_print(procedure ? procedure : "-", stream);
		if (procedure && row->offset > base)
			fprintf(stream, "+0x%" PRIx64, row->offset - base);
	}
	fputc('\n', stream);
}

static int
cat_report_print_text(const struct cat_report *report, const struct output *output)
{
	FILE *stream = output->stream;
	const bool header = report->request->options.header;

	if (header)
		print_head(report, stream);
	for (size_t i = 0; i < report->image_count; i++) {
		const struct cat_image *image = &report->images[i];

		if (header)
			print_image(report, image, stream);
		for (size_t row = 0; row < image->row_count; row++)
			print_row(report, &report->points.points[image->first_row + row], stream);
	}
	return 0;
}

static void
print_csv_headings(const struct cat_report *report, struct csv *csv)
{
	csv_text(csv, "image");
	csv_text(csv, "build-id");
	csv_text(csv, "offset");
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		csv_text(csv, shown_events_event(report->choice.selection, &report->choice.shown_events, i)->name);
	if (report->request->names) {
		csv_text(csv, "procedure");
		csv_text(csv, "procedure offset");
	}
	csv_end(csv);
}

static int
print_csv_name(const struct cat_report *report, const struct sampled_offset *row, struct csv *csv)
{
	uint64_t base;
	const char *procedure = cat_row_procedure(report, row, &base);

	if (csv_shown(csv, procedure))
		return -ENOMEM;
	if (procedure)
		csv_number(csv, base);
	else
		csv_text(csv, "");
	return 0;
}

static int
print_csv_image(const struct cat_report *report, const struct cat_image *image, struct csv *csv)
{
	const struct image *which = cat_image_of(report, image);
	char build_id[BUILD_ID_TEXT_SIZE], *path = text_shown(which->path);
	int err = path ? 0 : -ENOMEM;

	build_id_format(which, build_id);
	for (size_t i = 0; i < image->row_count && !err; i++) {
		const struct sampled_offset *row = &report->points.points[image->first_row + i];

		csv_text(csv, path);
		csv_text(csv, build_id);
		csv_number(csv, row->offset);
		for (size_t column = 0; column < report->choice.shown_events.count; column++)
			csv_number(csv, cat_row_samples(report, row, column));
		if (report->request->names)
			err = print_csv_name(report, row, csv);
		csv_end(csv);
	}
	free(path);
	return err;
}

static int
cat_report_print_csv(const struct cat_report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header)
		print_csv_headings(report, &csv);
	for (size_t i = 0; i < report->image_count && !err; i++)
		err = print_csv_image(report, &report->images[i], &csv);
	return err;
}

/* ---- JSON, an image a line, each made and freed before the next: a database may have millions of offsets ---- */

static json_t *
row_json(const struct cat_report *report, const struct sampled_offset *row)
{
	json_t *values = json_array();
	int failed = !values;

	failed |= json_array_append_new(values, json_count(row->offset));
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		failed |= json_array_append_new(values, json_count(cat_row_samples(report, row, i)));
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const uint16_t event = report->choice.shown_events.events[i];

		if (report->choice.selection->events[event].is_weighted)
			failed |= json_array_append_new(values,
			                                json_count(sample_points_taken(&report->points, row, event)));
	}
	if (report->request->names) {
		uint64_t base;
		const char *procedure = cat_row_procedure(report, row, &base);

		failed |= json_array_append_new(values, json_shown(procedure));
		failed |= json_array_append_new(values, procedure ? json_count(base) : json_null());
	}
	return json_kept(values, failed);
}

static json_t *
image_json(const struct cat_report *report, const struct cat_image *image)
{
	const struct image *which = cat_image_of(report, image);
	char build_id[BUILD_ID_TEXT_SIZE];
	json_t *rows = json_array(), *samples = json_array();
	int failed = !rows || !samples;

	build_id_format(which, build_id);
	for (size_t i = 0; i < image->row_count; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->points.points[image->first_row + i]));
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		failed |= json_array_append_new(samples, json_count(cat_image_samples(report, image, i)));
	return json_pack("{s:o, s:s, s:s?, s:o, s:o}", "image", json_shown(which->path), "kind", cat_kind(which),
	                 "build_id", build_id[0] ? build_id : NULL, "samples", samples, "rows",
	                 json_kept(rows, failed));
}

static json_t *
columns_json(const struct cat_report *report)
{
	json_t *columns = json_array();
	int failed = !columns;

	failed |= json_array_append_new(columns, json_string("offset"));
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		failed |= json_array_append_new(
			columns,
			json_shown(
				shown_events_event(report->choice.selection, &report->choice.shown_events, i)->name));
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		const struct selection_event *event =
			shown_events_event(report->choice.selection, &report->choice.shown_events, i);
		char name[EVENT_NAME_SIZE + sizeof(" taken")];

		snprintf(name, sizeof(name), "%s taken", event->name);
		if (event->is_weighted)
			failed |= json_array_append_new(columns, json_shown(name));
	}
	if (report->request->names) {
		failed |= json_array_append_new(columns, json_string("procedure"));
		failed |= json_array_append_new(columns, json_string("procedure_offset"));
	}
	return json_kept(columns, failed);
}

/* Everything but the images. */
static json_t *
head_json(const struct cat_report *report)
{
	const struct summary summary = {
		.selection = report->choice.selection,
		.request = &report->request->options.request,
		.shown_events = &report->choice.shown_events,
		.totals = report->totals,
	};
	json_t *root = json_pack("{s:s}", "schema", "dcpicat/1");
	int failed = !root;

	failed |= summary_json_events(&summary, root);
	failed |= summary_json_totals(&summary, root);
	failed |= json_object_set_new(root, "columns", columns_json(report));
	return json_kept(root, failed);
}

/* A value on one line, without its last `left_out` bytes; it is freed. */
static int
print_line(json_t *value, size_t left_out, FILE *stream)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(value);
	if (!text)
		return -ENOMEM;
	fwrite(text, 1, strlen(text) - left_out, stream);
	free(text);
	return 0;
}

static int
cat_report_print_json(const struct cat_report *report, FILE *stream)
{
	int err = print_line(head_json(report), 1, stream); /* without its closing brace */

	fputs(",\"images\":[", stream);
	for (size_t i = 0; i < report->image_count && !err; i++) {
		fputs(i ? ",\n" : "\n", stream);
		err = print_line(image_json(report, &report->images[i]), 0, stream);
	}
	fputs("\n]}\n", stream);
	return err;
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_IMAGE(struct cat_request, options),
	OPTION_SHOWN_EVENTS(struct cat_request, shown_events, "Only the columns of this event"),
	OPTION_TRUE(1, "names", 0, struct cat_request, names, "The procedure that each offset is in, too"),
	OPTION_NO_DEMANGLE(struct cat_request, demangle),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_IMAGE_ARGUMENTS(struct cat_request, options),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Print the counts of a dcpi profile database, a line for each offset of each image.\v"
	       "The form is made for scripts and stays as it is. See dcpicat(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT | SHARED_TABLE,
	.options = offsetof(struct cat_request, options),
};

TOOL_CSV_FUNCTION(cat)
TOOL_DEFINE(cat, .print_csv = tool_print_csv)

int
main(int argc, char **argv)
{
	struct cat_request request = {.demangle = true};
	struct cat_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
