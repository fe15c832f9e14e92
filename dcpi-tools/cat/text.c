/* Lines for scripts: their form is in the manual, and changes only with the number in the first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dcpi-tools/cat/report.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "process/attribution.h"

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
	for (size_t i = 0; i < report->choice.columns.count; i++)
		print_event(report, report->choice.columns.events[i], stream);
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
	for (size_t i = 0; i < report->choice.columns.count; i++)
		fprintf(stream, " %" PRIu64, cat_image_samples(report, image, i));
	fputc('\n', stream);
}

static void
print_row(const struct cat_report *report, const struct sampled_offset *row, FILE *stream)
{
	fprintf(stream, "0x%" PRIx64, row->offset);
	for (size_t i = 0; i < report->choice.columns.count; i++)
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

int
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
	for (size_t i = 0; i < report->choice.columns.count; i++)
		csv_text(csv, columns_event(report->choice.selection, &report->choice.columns, i)->name);
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
		for (size_t column = 0; column < report->choice.columns.count; column++)
			csv_number(csv, cat_row_samples(report, row, column));
		if (report->request->names)
			err = print_csv_name(report, row, csv);
		csv_end(csv);
	}
	free(path);
	return err;
}

int
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
