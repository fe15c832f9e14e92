/* Schema dcpidiff/2: man/dcpidiff.1.scd. */
#include "dcpi-tools/diff/report.h"

#include <jansson.h>
#include <math.h>

#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"

static json_t *
epochs_json(const struct selection *selection)
{
	json_t *epochs = json_array();
	int failed = !epochs;

	for (size_t i = 0; i < selection->epoch_count; i++) {
		const uint32_t id = selection->epochs[i].id;

		if (id >= selection->match.first_epoch && id <= selection->match.last_epoch)
			failed |= json_array_append_new(epochs, json_integer(id));
	}
	return json_kept(epochs, failed);
}

/* Add the number of samples before weighting, where they are weighted. */
static int
add_taken(const struct diff_report *report, unsigned side, const struct compare_count *samples, json_t *object)
{
	if (!input_event(&report->inputs[side])->is_weighted)
		return 0;
	return json_object_set_new(object, "taken", json_count(samples->taken));
}

static json_t *
side_json(const struct diff_report *report, unsigned side)
{
	const struct diff_input *of = &report->inputs[side];
	const struct selection_event *event = input_event(of);
	json_t *object = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o}", "set", json_shown(of->set->title), "database",
		json_shown(of->set->directory), "start", json_time(of->all.selection->match.start_ns), "end",
		json_time(of->all.selection->match.end_ns), "epochs", epochs_json(of->all.selection), "event", "name",
		json_shown(event->name), "unit", json_shown(event->unit), "period", json_count(event->period),
		"samples", json_count(of->total.count), "runs", json_count(of->run_count ? of->run_count : 1));

	int failed = add_taken(report, side, &of->total, object);

	failed |= other_cores_json(&of->all.left_out, of->all.selection, object);
	return json_kept(object, failed);
}

/* null where it is not known or infinite. */
static json_t *
finite_json(bool is_known, double value)
{
	return is_known && isfinite(value) ? json_real(value) : json_null();
}

/* Add how it changed to the object `row`; not 0: no memory. */
static int
comparison_json(const struct diff_report *report, const struct diff_comparison *comparison, json_t *row)
{
	const bool has_amounts = report->is_one_unit, has_noise = report->scale.run_count > 0;

	return json_object_update_new(
		row, json_pack("{s:f, s:f, s:f, s:o, s:o, s:o, s:f, s:b, s:o}", "difference", 100 * comparison->change,
	                       "least", 100 * comparison->bound.least, "most", 100 * comparison->bound.most, "times",
	                       finite_json(has_amounts, comparison->times), "times_least",
	                       finite_json(has_amounts, comparison->times_bound.least), "times_most",
	                       finite_json(has_amounts, comparison->times_bound.most), "p", comparison->chance,
	                       "differs", comparison->is_marked, "changed",
	                       has_noise ? json_boolean(comparison->is_marked) : json_null()));
}

static json_t *
reasons_json(const struct code_figures *figures)
{
	json_t *reasons = json_array();
	int failed = !reasons;

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (figures->high[i] > 0)
			failed |= json_array_append_new(reasons,
			                                json_pack("{s:s, s:f, s:f}", "reason", stall_cause_name(i),
			                                          "low", figures->low[i], "high", figures->high[i]));
	return json_kept(reasons, failed);
}

static json_t *
figures_json(const struct code_figures *figures)
{
	const bool is_known = figures->is_known;

	return json_pack("{s:o, s:o, s:b, s:s, s:o}", "cpi",
	                 finite_json(is_known && figures->cycles >= 0, figures->cycles), "executions",
	                 finite_json(is_known && figures->executions > 0, figures->executions), "relative",
	                 figures->is_relative, "confidence", frequency_confidence_name(figures->confidence), "stalls",
	                 reasons_json(figures));
}

/* Samples and figures of one side. NULL: no memory. */
static json_t *
half_json(const struct diff_report *report, const struct diff_comparison *comparison,
          const struct code_figures figures[2], unsigned side)
{
	json_t *half = json_pack("{s:o}", "samples", json_count(comparison->samples[side].count));
	int failed = add_taken(report, side, &comparison->samples[side], half);

	failed |= json_object_update_new(half,
	                                 json_pack("{s:f, s:o}", "percent", 100 * comparison->shares[side], "amount",
	                                           finite_json(report->is_one_unit, comparison->amounts[side])));
	if (!failed && report->request->input.analyze)
		failed |= json_object_update_new(half, figures_json(&figures[side]));
	return json_kept(half, failed);
}

static json_t *
item_half_json(const struct diff_report *report, const struct diff_item *item, unsigned side)
{
	const struct image *image;
	char build_id[BUILD_ID_TEXT_SIZE];
	json_t *half;

	if (item->images[side] == DIFF_ITEM_NOWHERE)
		return json_null();
	image = input_image(&report->inputs[side], item->images[side]);
	build_id_format(image, build_id);
	half = half_json(report, &item->comparison, item->figures, side);
	return json_kept(half,
	                 json_object_update_new(half, json_pack("{s:o, s:s?, s:o}", "image", json_shown(image->path),
	                                                        "build_id", build_id[0] ? build_id : NULL, "offset",
	                                                        item->has_offset[side] ? json_count(item->offsets[side])
	                                                                               : json_null())));
}

static json_t *
item_json(const struct diff_report *report, const struct diff_item *item)
{
	json_t *row = json_pack("{s:o, s:o, s:o}", "procedure", json_shown(item->title), "before",
	                        item_half_json(report, item, 0), "after", item_half_json(report, item, 1));

	return json_kept(row, comparison_json(report, &item->comparison, row));
}

static json_t *
rebuilt_json(const struct diff_report *report)
{
	json_t *images = json_array();
	int failed = !images;

	for (size_t i = 0; i < report->rebuilt_count; i++) {
		const struct diff_rebuilt *rebuilt = &report->rebuilt[i];

		failed |= json_array_append_new(
			images,
			json_pack("{s:o, s:o, s:s}", "before",
		                  json_shown(input_image(&report->inputs[0], rebuilt->images[0])->path), "after",
		                  json_shown(input_image(&report->inputs[1], rebuilt->images[1])->path), "by",
		                  rebuilt->why));
	}
	return json_kept(images, failed);
}

/* The noise from run to run; null without several runs of a side. */
static json_t *
noise_json(const struct diff_report *report)
{
	const struct variation *noise = report->request->procedure ? &report->code.noise : &report->noise;

	if (report->scale.run_count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:i}", "percent", 100 * noise->noise, "least_percent",
	                 100 * noise->noise_least, "most_percent", 100 * noise->noise_most, "tested",
	                 (int)noise->tested);
}

static json_t *
code_half_json(const struct diff_report *report, const struct code_row *row, unsigned side)
{
	json_t *half;

	if (!row->has[side])
		return json_null();
	half = half_json(report, &row->comparison, row->figures, side);
	return json_kept(half, json_object_set_new(half, row->kind == ROW_LINE ? "line" : "address",
	                                           json_count(row->places[side])));
}

static json_t *
code_row_json(const struct diff_report *report, const struct code_row *row)
{
	json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", code_row_kind_names[row->kind], "file",
	                           json_shown(row->file), "text", json_shown(row->text), "before",
	                           code_half_json(report, row, 0), "after", code_half_json(report, row, 1));

	return json_kept(object, comparison_json(report, &row->comparison, object));
}

static json_t *
code_image_json(const struct diff_report *report, unsigned side)
{
	const struct image *image = input_image(&report->inputs[side], report->codes[side].image);
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:o, s:s?, s:o}", "image", json_shown(image->path), "build_id",
	                 build_id[0] ? build_id : NULL, "offset", json_count(report->codes[side].offset));
}

int
diff_report_print_json(const struct diff_report *report, FILE *stream)
{
	const bool is_code = report->request->procedure != NULL;
	const size_t marked = is_code ? report->code.marked_count : report->marked_count;
	json_t *rows = json_array();
	json_t *root = json_pack("{s:s, s:s, s:o, s:o, s:f, s:o}", "schema", "dcpidiff/2", "compare",
	                         diff_measure_names[report->request->measure], "before", side_json(report, 0), "after",
	                         side_json(report, 1), "confidence", report->request->confidence_percent, "noise",
	                         noise_json(report));
	int failed = !root || !rows;

	if (is_code)
		failed |= json_object_update_new(
			root, json_pack("{s:o, s:b, s:s, s:[o, o]}", "procedure", json_shown(report->codes[1].title),
		                        "same_build", report->code.same_build, "by",
		                        report->code.view == VIEW_LINES ? "lines" : "instructions", "images",
		                        code_image_json(report, 0), code_image_json(report, 1)));
	for (size_t i = 0; i < (is_code ? report->code.count : report->shown); i++)
		if (!is_code)
			failed |= json_array_append_new(rows, item_json(report, &report->items[i]));
		else if (diff_report_shows_row(report, &report->code.rows[i]))
			failed |= json_array_append_new(rows, code_row_json(report, &report->code.rows[i]));
	failed |= json_object_update_new(
		root, json_pack("{s:o, s:o, s:o}", "rows", rows, "differ", json_count(marked), "changed",
	                        report->scale.run_count > 0 ? json_count(marked) : json_null()));
	if (!is_code)
		failed |= json_object_update_new(root,
		                                 json_pack("{s:o, s:o}", "row_count", json_count(report->item_count),
		                                           "builds", rebuilt_json(report)));
	return json_print(json_kept(root, failed), stream);
}
