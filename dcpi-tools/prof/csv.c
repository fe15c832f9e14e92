#include <stdio.h>

#include "dcpi-tools/common/csv.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/prof/report.h"

static void
print_csv_headings(const struct report *report, struct csv *csv)
{
	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const char *name = report->choice.selection->events[report->choice.columns.events[i]].name;
		char heading[EVENT_NAME_SIZE + 32];

		csv_text(csv, name);
		snprintf(heading, sizeof(heading), "%s percent", name);
		csv_text(csv, heading);
		if (i > 0)
			continue;
		snprintf(heading, sizeof(heading), "%s cumulative percent", name);
		csv_text(csv, heading);
	}
	if (!report->request->by_image)
		csv_text(csv, "procedure");
	csv_text(csv, "image");
	csv_text(csv, "build-id");
	csv_end(csv);
}

static void
print_csv_percent(struct csv *csv, uint64_t part, uint64_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", share_percent(part, whole));
	csv_text(csv, text);
}

static int
print_csv_row(const struct report *report, const struct histogram_row *row, uint64_t sum, struct csv *csv)
{
	const struct image *image = report->choice.selection->images[row->image].image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err = 0;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		uint16_t event = report->choice.columns.events[i];

		csv_number(csv, row->counts[event]);
		print_csv_percent(csv, row->counts[event], report->totals[event]);
		if (i == 0)
			print_csv_percent(csv, sum, report->totals[event]);
	}
	if (row->title)
		err = csv_shown(csv, row->title);
	if (!err)
		err = csv_shown(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	csv_end(csv);
	return err;
}

int
prof_report_print_csv(const struct report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	uint64_t sum = 0;
	int err = 0;

	if (report->request->options.header)
		print_csv_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct histogram_row *row = &report->histogram.rows[i];

		sum += row->counts[report->choice.columns.events[0]];
		err = print_csv_row(report, row, sum, &csv);
	}
	return err;
}
