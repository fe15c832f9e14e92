/*
 * The format is described in the manual of valgrind, "Callgrind Format Specification". Names are given a number at
 * their first use and are written as the number later. "fi": the following lines are of another file than the
 * procedure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/export/report.h"

struct callgrind_writer {
	const struct export_report *report;
	FILE *stream;
	bool *is_file_named;      /* by number of the source file */
	bool *is_procedure_named; /* by index */
	uint32_t image;           /* that was named last */
	uint32_t procedure;       /* UINT32_MAX: none */
	uint32_t file;
};

static void
print_file(struct callgrind_writer *writer, const char *key, uint32_t file)
{
	writer->file = file;
	fprintf(writer->stream, "%s=(%" PRIu32 ")", key, file + 1);
	if (!writer->is_file_named[file]) {
		fputc(' ', writer->stream);
		text_print(file ? strings_get(writer->report->strings, file) : "???", writer->stream);
	}
	writer->is_file_named[file] = true;
	fputc('\n', writer->stream);
}

static void
print_procedure(struct callgrind_writer *writer, const struct sampled_offset *point, uint32_t file)
{
	const struct export_report *report = writer->report;

	if (writer->procedure == UINT32_MAX || writer->image != point->image) {
		fprintf(writer->stream, "\nob=(%" PRIu32 ") ", point->image + 1);
		text_print(report->choice.titles[point->image], writer->stream);
	}
	fputc('\n', writer->stream);
	print_file(writer, "fl", file);
	fprintf(writer->stream, "fn=(%" PRIu32 ")", point->procedure + 1);
	if (!writer->is_procedure_named[point->procedure]) {
		fputc(' ', writer->stream);
		text_print(report->points.procedures[point->procedure].title, writer->stream);
	}
	fputc('\n', writer->stream);
	writer->is_procedure_named[point->procedure] = true;
	writer->image = point->image;
	writer->procedure = point->procedure;
}

static void
print_point(struct callgrind_writer *writer, size_t index, const uint32_t *files)
{
	const struct export_report *report = writer->report;
	const struct sampled_offset *point = &report->points.points[index];
	const struct export_place *place = &report->places[index];

	if (writer->procedure != point->procedure || writer->image != point->image)
		print_procedure(writer, point, files[point->procedure]);
	if (writer->file != place->file)
		print_file(writer, place->file == files[point->procedure] ? "fe" : "fi", place->file);
	fprintf(writer->stream, "0x%" PRIx64 " %" PRIu32, place->address, place->line);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(writer->stream, " %" PRIu64,
		        sample_points_samples(&report->points, point, report->choice.shown_events.events[i]));
	fputc('\n', writer->stream);
}

static void
print_unknown(const struct callgrind_writer *writer)
{
	const struct export_report *report = writer->report;

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < report->choice.shown_events.count; i++)
			sum += export_report_unknown(report, report->choice.shown_events.events[i], cause);
		if (sum == 0)
			continue;
		fprintf(writer->stream, "\nob=[unknown]\nfl=???\nfn=[unknown: %s]\n0x0 0", unknown_cause_name(cause));
		for (size_t i = 0; i < report->choice.shown_events.count; i++)
			fprintf(writer->stream, " %" PRIu64,
			        export_report_unknown(report, report->choice.shown_events.events[i], cause));
		fputc('\n', writer->stream);
	}
}

/* Names of events are separated by blanks. */
static int
print_events(const struct export_report *report, FILE *stream)
{
	fputs("positions: instr line\nevents:", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++) {
		char *name = text_shown(export_report_event(report, i)->name);

		if (!name)
			return -ENOMEM;
		for (char *at = name; (at = strchr(at, ' ')); at++)
			*at = '_';
		fprintf(stream, " %s", name);
		free(name);
	}
	fputs("\nsummary:", stream);
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		fprintf(stream, " %" PRIu64, report->written[report->choice.shown_events.events[i]]);
	fputc('\n', stream);
	return 0;
}

static int
print_head(const struct export_report *report, FILE *stream)
{
	const struct selection *selection = report->choice.selection;
	char range[2 * TIME_TEXT_SIZE];

	fputs("# callgrind format\nversion: 1\ncreator: dcpiexport-" DCPI_VERSION "\n", stream);
	if (selection->epoch_count > 0) {
		fprintf(stream, "desc: Sampled: %s, on ",
		        time_format_range(selection->start_ns, selection->end_ns, range));
		text_print(selection->epochs[selection->epoch_count - 1].host, stream);
		fputc('\n', stream);
	}
	for (size_t i = 0; i < report->choice.shown_events.count; i++)
		summary_print_weights(export_report_event(report, i), "desc: Weights: ", stream);
	return print_events(report, stream);
}

/* The source file of each procedure: that of the first of its points that has one. */
static uint32_t *
files_of_procedures(const struct export_report *report)
{
	uint32_t *files = calloc(report->points.procedure_count + 1, sizeof(*files));

	for (size_t i = 0; files && i < report->points.count; i++)
		if (files[report->points.points[i].procedure] == 0)
			files[report->points.points[i].procedure] = report->places[i].file;
	return files;
}

int
export_write_callgrind(const struct export_report *report, FILE *stream)
{
	struct callgrind_writer writer = {
		.report = report,
		.stream = stream,
		.is_file_named = calloc(strings_count(report->strings), sizeof(bool)),
		.is_procedure_named = calloc(report->points.procedure_count + 1, sizeof(bool)),
		.procedure = UINT32_MAX,
	};
	uint32_t *files = files_of_procedures(report);
	int err = -ENOMEM;

	if (writer.is_file_named && writer.is_procedure_named && files)
		err = print_head(report, stream);
	for (size_t i = 0; i < report->points.count && !err; i++)
		print_point(&writer, i, files);
	if (!err)
		print_unknown(&writer);
	free(files);
	free(writer.is_procedure_named);
	free(writer.is_file_named);
	return err;
}
