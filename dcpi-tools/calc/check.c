/* Estimated executions compared with exact ones, and inferred stalls with measured ones, by instruction. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"

static const double limits[] = {5, 10, 15, 25, 50}; /* percent */
#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static double
estimate_of(const struct calc_report *report, uint32_t block)
{
	const struct frequency *frequency = &report->analysis->frequencies.blocks[block];

	return frequency->confidence == CONFIDENCE_NONE ? 0 : frequency->value;
}

/* In percent. A block that did not run, with an estimate of 0, has no error. */
static double
error_percent(double estimate, double executions)
{
	if (executions <= 0)
		return estimate > 0 ? INFINITY : 0;
	return 100 * (estimate / executions - 1);
}

static void
fill_rows(const struct calc_report *report, uint32_t index, double factor, struct table *table)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const double estimate = factor * estimate_of(report, index);

	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const double error = error_percent(estimate, (double)analysis->executions[i]);
		char text[INSTRUCTION_TEXT_SIZE];

		calc_instruction_text(report, i, text);
		table_format(table, STYLE_PLAIN, "%06" PRIx64, analysis->graph->instructions[i].address);
		table_text(table, STYLE_PLAIN, text);
		table_format(table, STYLE_PLAIN, "%.0f", analysis->frequencies.samples[i]);
		table_format(table, STYLE_PLAIN, "%" PRIu64, analysis->executions[i]);
		table_format(table, STYLE_PLAIN, "%.0f", estimate);
		if (isfinite(error))
			table_format(table, fabs(error) > 50 ? STYLE_HOT : STYLE_PLAIN, "%+.1f%%", error);
		else
			table_text(table, STYLE_HOT, "did not run");
	}
}

static void
print_shares(const struct calc_report *report, double factor, FILE *stream)
{
	const struct procedure_analysis *analysis = report->analysis;
	double within[LIMITS] = {0}, all = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++) {
		const double samples = procedure_block_samples(analysis, i);
		const double executions = (double)analysis->executions[analysis->graph->blocks[i].first];
		const double error = error_percent(factor * estimate_of(report, i), executions);

		all += samples;
		for (size_t k = 0; k < LIMITS; k++)
			within[k] += fabs(error) <= limits[k] ? samples : 0;
	}
	fputs("\nOf the samples, so many are in blocks whose estimate is within:", stream);
	for (size_t k = 0; k < LIMITS; k++)
		fprintf(stream, "%s %g%%: %.0f%%", k ? "," : "", limits[k], all > 0 ? 100 * within[k] / all : 0);
	fputc('\n', stream);
}

static int
print_executions(const struct calc_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "Addr"},
		{.heading = "Instruction", .gap = 1},
		{.heading = "Samples", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "Executed", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "Estimated", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "Error", .align = TABLE_RIGHT, .gap = 2},
	};
	const struct flow_graph *graph = report->analysis->graph;
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const double factor = verdict_unit(report->analysis, report->records.exact.paths.is_sampled_run);
	int err = table ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < graph->block_count && !err; i++)
		if (calc_block_percent(report, i) >= report->request->cutoff_percent)
			fill_rows(report, i, factor, table);
	if (!err) {
		fprintf(output->stream,
		        "Executed:   as %s counted in epoch %" PRIu32 "\nEstimated:  frequency times %.4g, "
		        "one factor for all\n\n",
		        report->records.is_emulated ? "dcpiemu" : "dcpix", report->records.exact.epoch, factor);
		err = table_print(table, output, true);
	}
	if (!err)
		print_shares(report, factor, output->stream);
	table_free(table);
	return err;
}

static void
fill_stall(const struct calc_report *report, uint32_t instruction, struct table *table)
{
	const struct verdict *verdict = &report->verdicts[instruction];
	const uint64_t address = report->analysis->graph->instructions[instruction].address;
	char text[INSTRUCTION_TEXT_SIZE];

	calc_instruction_text(report, instruction, text);
	table_format(table, STYLE_PLAIN, "%06" PRIx64, address);
	table_text(table, STYLE_PLAIN, text);
	table_format(table, STYLE_PLAIN, "%.0f", verdict->cycles);
	table_text(table, STYLE_PLAIN, stall_cause_name(verdict->cause));
	if (verdict->culprit == VERDICT_ELSEWHERE)
		table_text(table, STYLE_PLAIN, "elsewhere");
	else if (verdict->culprit == address)
		table_text(table, STYLE_PLAIN, "");
	else
		table_format(table, STYLE_PLAIN, "%06" PRIx64, verdict->culprit);
	table_text(table, verdict->is_cause ? STYLE_PLAIN : STYLE_HOT,
	           verdict->inferred == CAUSE_COUNT ? "none" : stall_cause_name(verdict->inferred));
	table_text(table, verdict->is_culprit ? STYLE_PLAIN : STYLE_HOT,
	           verdict->is_culprit ? "right"
	           : verdict->is_cause ? "other culprit"
	                               : "wrong");
}

static double
percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 100;
}

static int
print_stalls(const struct calc_report *report, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "Addr"},
		{.heading = "Instruction", .gap = 1},
		{.heading = "Stalled", .align = TABLE_RIGHT, .gap = 2},
		{.heading = "For", .gap = 2},
		{.heading = "Culprit", .gap = 2},
		{.heading = "Inferred", .gap = 2},
		{.heading = "", .gap = 2},
	};
	const struct flow_graph *graph = report->analysis->graph;
	struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	struct verdict_sum sum = {0};
	int err = table ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		const struct flow_block *block = &graph->blocks[i];

		for (uint32_t k = block->first; k < block->first + block->count; k++)
			if (report->verdicts[k].cycles > 0 &&
			    calc_block_percent(report, i) >= report->request->cutoff_percent)
				fill_stall(report, k, table);
	}
	if (!err) {
		fprintf(output->stream, "\nStalled:    cycles, as they happened in epoch %" PRIu32 "\n\n",
		        report->stall_truth_epoch);
		err = table_print(table, output, true);
	}
	verdict_sum_add(&sum, report->analysis, report->records.exact.paths.is_sampled_run, report->verdicts);
	if (!err)
		fprintf(output->stream,
		        "\nOf the stall cycles, so many have the right reason first: %.1f%%, and the right culprit: "
		        "%.1f%%\n",
		        percent_of(sum.causes, sum.stall_cycles), percent_of(sum.culprits, sum.stall_cycles));
	table_free(table);
	return err;
}

int
calc_check_print(const struct calc_report *report, const struct output *output)
{
	int err = print_executions(report, output);

	return err || !report->verdicts ? err : print_stalls(report, output);
}

static json_t *
verdict_json(const struct calc_report *report, uint32_t instruction)
{
	const struct verdict *verdict = &report->verdicts[instruction];

	return json_pack("{s:o, s:f, s:s, s:o, s:o, s:i, s:b, s:b}", "address",
	                 json_count(report->analysis->graph->instructions[instruction].address), "cycles",
	                 verdict->cycles, "reason", stall_cause_name(verdict->cause), "culprit",
	                 verdict->culprit == VERDICT_ELSEWHERE ? json_null() : json_count(verdict->culprit), "inferred",
	                 verdict->inferred == CAUSE_COUNT ? json_null()
	                                                  : json_string(stall_cause_name(verdict->inferred)),
	                 "inferred_culprits", (int)verdict->inferred_culprits, "right_reason", verdict->is_cause,
	                 "right_culprit", verdict->is_culprit);
}

static json_t *
stalls_json(const struct calc_report *report)
{
	json_t *stalls = json_array();
	int failed = !stalls;

	for (size_t i = 0; report->verdicts && i < report->analysis->graph->instruction_count; i++)
		if (report->verdicts[i].cycles > 0)
			failed |= json_array_append_new(stalls, verdict_json(report, (uint32_t)i));
	return json_kept(stalls, failed);
}

json_t *
calc_check_json(const struct calc_report *report)
{
	const struct procedure_analysis *analysis = report->analysis;
	struct verdict *none = calloc(analysis->graph->instruction_count + 1, sizeof(*none));
	struct verdict_sum sum = {0};
	json_t *object, *within = json_object();
	char name[16];
	int failed = !none || !within;

	if (none)
		verdict_sum_add(&sum, analysis, report->records.exact.paths.is_sampled_run,
		                report->verdicts ? report->verdicts : none);
	free(none);
	for (size_t i = 0; !failed && i < VERDICT_LIMITS; i++) {
		snprintf(name, sizeof(name), "%g", verdict_limits[i]);
		failed |= json_object_set_new(within, name, json_real(sum.within[i]));
	}
	object = json_pack("{s:f, s:f, s:o, s:f, s:f, s:f, s:o}", "executions_per_frequency",
	                   verdict_unit(analysis, report->records.exact.paths.is_sampled_run), "samples", sum.samples,
	                   "within_percent", within, "stall_cycles", sum.stall_cycles, "right_reason_cycles",
	                   sum.causes, "right_culprit_cycles", sum.culprits, "stalls", stalls_json(report));
	return json_kept(object, failed);
}
