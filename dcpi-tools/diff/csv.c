#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/diff/csv_columns.h"

static void
print_headings(const struct report *report, struct csv *csv)
{
	csv_columns_headings(report, csv);
	if (!report->request->side.by_image)
		csv_text(csv, "procedure");
	csv_text(csv, "image before");
	csv_text(csv, "build-id before");
	csv_text(csv, "image after");
	csv_text(csv, "build-id after");
	csv_end(csv);
}

static int
print_image(const struct report *report, const struct diff_item *item, unsigned side, struct csv *csv)
{
	const struct image *image;
	char build_id[BUILD_ID_TEXT_SIZE];
	int err;

	if (item->images[side] == ITEM_NOWHERE) {
		csv_text(csv, "");
		csv_text(csv, "");
		return 0;
	}
	image = side_image(&report->sides[side], item->images[side]);
	err = csv_shown(csv, image->path);
	csv_text(csv, build_id_format(image, build_id));
	return err;
}

int
diff_report_print_csv(const struct report *report, FILE *stream)
{
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header)
		print_headings(report, &csv);
	for (size_t i = 0; i < report->shown && !err; i++) {
		const struct diff_item *item = &report->items[i];

		csv_columns(report, &item->comparison, item->figures, &csv);
		if (item->title)
			err = csv_shown(&csv, item->title);
		if (!err)
			err = print_image(report, item, 0, &csv);
		if (!err)
			err = print_image(report, item, 1, &csv);
		csv_end(&csv);
	}
	return err;
}
