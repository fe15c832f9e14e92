/* What --check prints: see report.h. */
#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/topstalls/report.h"

static bool
is_shown(const struct report *report, size_t index)
{
	return index < report->request->limit &&
	       topstalls_report_percent(report, (double)report->judged.procedures[index].samples) >=
	               report->request->cutoff_percent;
}

static void
fill_sum(struct table *table, const struct report *report, const struct verdict_sum *sum)
{
	for (size_t i = 0; i < VERDICT_LIMITS; i++)
		table_format(table, STYLE_PLAIN, "%.1f", judged_within(sum, i));
	if (!report->judged.epoch)
		return;
	table_format(table, STYLE_PLAIN, "%.0f", sum->stall_cycles);
	table_format(table, STYLE_PLAIN, "%.1f", judged_causes(sum));
	table_format(table, STYLE_PLAIN, "%.1f", judged_culprits(sum));
}

static struct table *
make_table(const struct report *report)
{
	static const struct table_column stalls[] = {
		{.heading = "samples", .align = TABLE_RIGHT},
		{.heading = "in 5%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "in 10%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "in 15%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "stall cycles", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "reason%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "culprit%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "procedure", .cut = TABLE_CUT_END, .gap = 2},
		{.heading = "image", .cut = TABLE_CUT_START, .gap = 2},
	};
	static const struct table_column counts[] = {
		{.heading = "samples", .align = TABLE_RIGHT},
		{.heading = "in 5%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "in 10%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "in 15%", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "procedure", .cut = TABLE_CUT_END, .gap = 2},
		{.heading = "image", .cut = TABLE_CUT_START, .gap = 2},
	};

	return report->judged.epoch ? table_new(stalls, sizeof(stalls) / sizeof(stalls[0]))
	                            : table_new(counts, sizeof(counts) / sizeof(counts[0]));
}

int
topstalls_report_print_judged(const struct report *report, const struct output *output)
{
	const struct judged *judged = &report->judged;
	struct table *table = make_table(report);
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < judged->count && is_shown(report, i); i++) {
		const struct judged_procedure *procedure = &judged->procedures[i];

		table_format(table, STYLE_PLAIN, "%" PRIu64, procedure->samples);
		fill_sum(table, report, &procedure->sum);
		table_text(table, STYLE_PLAIN, procedure->title);
		table_text(table, STYLE_PLAIN, report->survey.titles[procedure->image]);
	}
	table_format(table, STYLE_HOT, "%" PRIu64, report->survey.analyzed);
	fill_sum(table, report, &judged->sum);
	table_text(table, STYLE_HOT, "(all)");
	table_text(table, STYLE_PLAIN, "");
	err = table_print(table, output, report->request->survey.options.header);
	table_free(table);
	return err;
}

static json_t *
sum_json(const struct verdict_sum *sum)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "judged_samples", sum->samples, "within_5_percent",
	                 sum->within[0], "within_10_percent", sum->within[1], "within_15_percent", sum->within[2],
	                 "stall_cycles", sum->stall_cycles, "right_reason_cycles", sum->causes, "right_culprit_cycles",
	                 sum->culprits);
}

json_t *
topstalls_report_judged_json(const struct report *report)
{
	const struct judged *judged = &report->judged;
	json_t *procedures = json_array(), *object = sum_json(&judged->sum);
	int failed = !procedures || !object;

	for (size_t i = 0; !failed && i < judged->count && is_shown(report, i); i++) {
		const struct judged_procedure *procedure = &judged->procedures[i];
		json_t *row = sum_json(&procedure->sum);

		failed |= json_object_set_new(row, "procedure", json_shown(procedure->title));
		failed |= json_object_set_new(row, "image", json_shown(report->survey.titles[procedure->image]));
		failed |= json_object_set_new(row, "samples", json_count(procedure->samples));
		failed |= json_array_append_new(procedures, row);
	}
	failed |= json_object_set_new(object, "epoch", judged->epoch ? json_count(judged->epoch) : json_null());
	failed |= json_object_set_new(object, "procedures", procedures);
	return json_kept(object, failed);
}
