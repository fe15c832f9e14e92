/* One procedure, for scripts. */
#include <errno.h>

#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/diff/csv_columns.h"
#include "dcpi-tools/diff/report_json.h"

#include "dcpi-tools/common/json.h"

static const char *const kind_names[] = {"procedure", "block", "instruction", "line"};

static int
print_csv_row(const struct report *report, const struct code_row *row, struct csv *csv)
{
	csv_columns(report, &row->comparison, row->figures, csv);
	csv_text(csv, kind_names[row->kind]);
	for (unsigned side = 0; side < 2; side++) {
		if (row->has[side])
			csv_number(csv, row->places[side]);
		else
			csv_text(csv, "");
	}
	if (csv_shown(csv, row->file) || csv_shown(csv, row->text))
		return -ENOMEM;
	csv_end(csv);
	return 0;
}

int
code_print_csv(const struct report *report, FILE *stream)
{
	static const char *const headings[] = {"kind", "place before", "place after", "file", "text"};
	struct csv csv = {.stream = stream};
	int err = 0;

	if (report->request->options.header) {
		csv_columns_headings(report, &csv);
		for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
			csv_text(&csv, headings[i]);
		csv_end(&csv);
	}
	for (size_t i = 0; i < report->code.count && !err; i++)
		if (code_row_is_shown(report, &report->code.rows[i]))
			err = print_csv_row(report, &report->code.rows[i], &csv);
	return err;
}

static json_t *
row_half_json(const struct report *report, const struct code_row *row, unsigned side)
{
	json_t *half;

	if (!row->has[side])
		return json_null();
	half = half_json(report, &row->comparison, row->figures, side);
	return json_kept(half, json_object_set_new(half, row->kind == ROW_LINE ? "line" : "address",
	                                           json_count(row->places[side])));
}

static json_t *
row_json(const struct report *report, const struct code_row *row)
{
	json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", kind_names[row->kind], "file",
	                           json_shown(row->file), "text", json_shown(row->text), "before",
	                           row_half_json(report, row, 0), "after", row_half_json(report, row, 1));
	int failed = !object;

	failed |= comparison_json(report, &row->comparison, object);
	return json_kept(object, failed);
}

static json_t *
image_json(const struct report *report, unsigned side)
{
	const struct image *image = side_image(&report->sides[side], report->codes[side].image);
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:o, s:s?, s:o}", "image", json_shown(image->path), "build_id",
	                 build_id[0] ? build_id : NULL, "offset", json_count(report->codes[side].offset));
}

int
code_print_json(const struct report *report, FILE *stream)
{
	json_t *root = diff_report_json(report), *rows = json_array(), *images = json_array();
	int failed = !root || !rows || !images;

	failed |= json_object_set_new(root, "procedure", json_shown(report->codes[1].title));
	failed |= json_object_set_new(root, "same_build", json_boolean(report->code.same_build));
	failed |= json_object_set_new(root, "by",
	                              json_string(report->code.view == VIEW_LINES ? "lines" : "instructions"));
	for (unsigned side = 0; side < 2; side++)
		failed |= json_array_append_new(images, image_json(report, side));
	failed |= json_object_set_new(root, "images", images);
	for (size_t i = 0; i < report->code.count; i++)
		if (code_row_is_shown(report, &report->code.rows[i]))
			failed |= json_array_append_new(rows, row_json(report, &report->code.rows[i]));
	failed |= json_object_set_new(root, "rows", rows);
	failed |= json_object_set_new(root, "differ", json_count(report->code.marked_count));
	failed |= json_object_set_new(
		root, "changed", report->scale.run_count > 0 ? json_count(report->code.marked_count) : json_null());
	return json_print(json_kept(root, failed), stream);
}
