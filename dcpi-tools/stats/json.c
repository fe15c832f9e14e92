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
	json_t *set = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "title",
	                        json_shown(report->sets->sets[index].title), "database", json_shown(details->directory),
	                        "start", json_time(details->match.start_ns), "end", json_time(details->match.end_ns),
	                        "first_epoch", json_count(details->match.first_epoch), "last_epoch",
	                        json_count(details->match.last_epoch), "time_ns",
	                        json_count(stats_report_time_ns(report, index)), "time_of",
	                        stats_report_divides_by_run(report, index) ? "runs" : "slices", "period",
	                        details->period > 0 ? json_real(details->period) : json_null(), "samples",
	                        json_count(details->total.count));
	int failed = is_weighted(report) && json_object_set_new(set, "taken", json_count(details->total.taken));

	failed |= json_object_update_new(
		set, json_pack("{s:o, s:o, s:f, s:o}", "unknown", json_count(details->unknown), "lost",
	                       json_count(details->lost), "factor", report->factors[index], "outlier_percent",
	                       report->above[index] != 0 ? json_real(100 * report->above[index]) : json_null()));
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
	const char *build_id = row->row->build_id;
	json_t *root = json_pack(
		"{s:o, s:o, s:s?, s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:o, s:b, s:f, s:o}", "procedure",
		json_shown(row->row->title), "image", json_shown(row->row->path), "build_id",
		build_id[0] ? build_id : NULL, "range_percent", 100 * values->range, "sum", values->sum, "sum_percent",
		100 * values->sum / report->total, "sets", json_count(values->set_count), "mean", values->mean,
		"standard_deviation", values->deviation, "min", values->least, "max", values->most, "p",
		values->is_tested ? json_real(values->p) : json_null(), "marked", row->is_marked, "variation_percent",
		100 * values->own_noise, "counts", counts_json(report, row->row->counts));

	return json_kept(root, is_weighted(report) &&
	                               json_object_set_new(root, "taken", counts_json(report, row->row->taken)));
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
	const struct variation *variation = &report->variation;
	json_t *sets = json_array(), *rows = json_array();
	int failed = 0;

	for (size_t i = 0; i < report->sets->count; i++)
		failed |= json_array_append_new(sets, set_json(report, i));
	for (size_t i = 0; i < report->shown; i++)
		failed |= json_array_append_new(rows, row_json(report, &report->list[i]));
	return json_print_exact(
		json_kept(json_pack("{s:s, s:o, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:b, s:o, s:o, s:o}",
	                            "schema", "dcpistats/1", "event", json_shown(report->event), "by",
	                            stats_report_row_name(report), "normalize",
	                            normalizations[report->request->normalization], "total", report->total,
	                            "noise_percent", 100 * variation->noise, "noise_least_percent",
	                            100 * variation->noise_least, "noise_most_percent", 100 * variation->noise_most,
	                            "p", report->request->p, "tested", (int)variation->tested, "too_few_samples",
	                            (int)report->few, "scaled_by_period", report->is_scaled, "prior",
	                            prior_json(report), "sets", sets, "rows", rows),
	                  failed),
		stream);
}
