#include "dcpi-tools/common/json.h"
#include "dcpi-tools/stats/report.h"

static const char *const normalizations[] = {
	[NORMALIZE_NONE] = "none", [NORMALIZE_TOTAL] = "total", [NORMALIZE_TIME] = "time"};

/* Samples of some set are. */
static bool
is_weighted(const struct stats_report *report)
{
	for (size_t i = 0; i < report->sets->count; i++)
		if (report->details[i].weights[0])
			return true;
	return false;
}

static json_t *
set_json(const struct stats_report *report, size_t index)
{
	const struct stats_set *details = &report->details[index];
	json_t *set = json_object();
	int failed = !set;

	failed |= json_object_set_new(set, "title", json_shown(report->sets->sets[index].title));
	failed |= json_object_set_new(set, "database", json_shown(details->directory));
	failed |= json_object_set_new(set, "start", json_time(details->match.start_ns));
	failed |= json_object_set_new(set, "end", json_time(details->match.end_ns));
	failed |= json_object_set_new(set, "first_epoch", json_count(details->match.first_epoch));
	failed |= json_object_set_new(set, "last_epoch", json_count(details->match.last_epoch));
	failed |= json_object_set_new(set, "time_ns", json_count(stats_report_time_ns(report, index)));
	failed |= json_object_set_new(set, "time_of",
	                              json_string(stats_report_divides_by_run(report, index) ? "runs" : "slices"));
	failed |= json_object_set_new(set, "period", details->period > 0 ? json_real(details->period) : json_null());
	failed |= json_object_set_new(set, "samples", json_count(details->samples));
	if (is_weighted(report))
		failed |= json_object_set_new(set, "taken", json_count(details->taken));
	failed |= json_object_set_new(set, "unknown", json_count(details->unknown));
	failed |= json_object_set_new(set, "lost", json_count(details->lost));
	failed |= json_object_set_new(set, "factor", json_real(report->factors[index]));
	failed |= json_object_set_new(set, "outlier_percent",
	                              report->above[index] != 0 ? json_real(100 * report->above[index]) : json_null());
	return json_kept(set, failed);
}

static json_t *
counts_json(const struct stats_report *report, const uint64_t *by_set)
{
	json_t *counts = json_array();
	int failed = !counts;

	for (size_t i = 0; i < report->sets->count; i++)
		failed |= json_array_append_new(counts, json_count(by_set[i]));
	return json_kept(counts, failed);
}

static json_t *
row_json(const struct stats_report *report, const struct stats_report_row *row)
{
	const struct variation_row *values = &row->variation;
	json_t *root = json_object();
	int failed = !root;

	failed |= json_object_set_new(root, "procedure", json_shown(row->row->title));
	failed |= json_object_set_new(root, "image", json_shown(row->row->path));
	failed |= json_object_set_new(root, "build_id",
	                              row->row->build_id[0] ? json_string(row->row->build_id) : json_null());
	failed |= json_object_set_new(root, "range_percent", json_real(100 * values->range));
	failed |= json_object_set_new(root, "sum", json_real(values->sum));
	failed |= json_object_set_new(root, "sum_percent", json_real(100 * values->sum / report->total));
	failed |= json_object_set_new(root, "sets", json_count(values->set_count));
	failed |= json_object_set_new(root, "mean", json_real(values->mean));
	failed |= json_object_set_new(root, "standard_deviation", json_real(values->deviation));
	failed |= json_object_set_new(root, "min", json_real(values->least));
	failed |= json_object_set_new(root, "max", json_real(values->most));
	failed |= json_object_set_new(root, "p", values->is_tested ? json_real(values->p) : json_null());
	failed |= json_object_set_new(root, "marked", json_boolean(row->is_marked));
	failed |= json_object_set_new(root, "variation_percent", json_real(100 * values->own_noise));
	failed |= json_object_set_new(root, "counts", counts_json(report, row->row->counts));
	if (is_weighted(report))
		failed |= json_object_set_new(root, "taken", counts_json(report, row->row->taken));
	return json_kept(root, failed);
}

static json_t *
lists_json(const struct stats_report *report, json_t *root)
{
	json_t *sets = json_array(), *rows = json_array();
	int failed = !sets || !rows;

	for (size_t i = 0; i < report->sets->count; i++)
		failed |= json_array_append_new(sets, set_json(report, i));
	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->list[i]));
	failed |= json_object_set_new(root, "sets", sets);
	failed |= json_object_set_new(root, "rows", rows);
	return json_kept(root, failed);
}

/* The prior of the noise; null when --noise gives the noise. */
static json_t *
prior_json(const struct stats_report *report)
{
	const struct run_history *history = &report->history;

	if (report->request->noise >= 0)
		return json_null();
	return json_pack("{s:f, s:f, s:i, s:i}", "percent", 100 * history->prior.median, "spread",
	                 history->prior.spread, "programs", (int)history->series, "runs", (int)history->runs);
}

int
stats_report_print_json(const struct stats_report *report, FILE *stream)
{
	json_t *root =
		json_pack("{s:s, s:o, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:b}", "schema", "dcpistats/1",
	                  "event", json_shown(report->event), "by", stats_report_row_name(report), "normalize",
	                  normalizations[report->request->normalization], "total", report->total, "noise_percent",
	                  100 * report->variation.noise, "noise_least_percent", 100 * report->variation.noise_least,
	                  "noise_most_percent", 100 * report->variation.noise_most, "p", report->request->p, "tested",
	                  (int)report->variation.tested, "too_few_samples", (int)report->few, "scaled_by_period",
	                  report->is_scaled);

	if (root && json_object_set_new(root, "prior", prior_json(report))) {
		json_decref(root);
		root = NULL;
	}
	return json_print_exact(root ? lists_json(report, root) : NULL, stream);
}
