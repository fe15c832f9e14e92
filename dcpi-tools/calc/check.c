/* Executions that are estimated from samples, compared with exact counts, by instruction. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

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

/* The samples, and how many of them are in blocks whose estimate is within each of the limits. */
static double
add_up(const struct calc_report *report, double factor, double within[LIMITS])
{
	const struct procedure_analysis *analysis = report->analysis;
	double all = 0;

	for (uint32_t i = 0; i < analysis->graph->block_count; i++) {
		const double samples = procedure_block_samples(analysis, i);
		const double executions = (double)analysis->executions[analysis->graph->blocks[i].first];
		const double error = error_percent(factor * estimate_of(report, i), executions);

		all += samples;
		for (size_t k = 0; k < LIMITS; k++)
			within[k] += fabs(error) <= limits[k] ? samples : 0;
	}
	return all;
}

static void
print_shares(const struct calc_report *report, double factor, FILE *stream)
{
	double within[LIMITS] = {0};
	const double all = add_up(report, factor, within);

	fputs("\nOf the samples, so many are in blocks whose estimate is within:", stream);
	for (size_t k = 0; k < LIMITS; k++)
		fprintf(stream, "%s %g%%: %.0f%%", k ? "," : "", limits[k], all > 0 ? 100 * within[k] / all : 0);
	fputc('\n', stream);
}

int
calc_check_print(const struct calc_report *report, const struct output *output)
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
	const double factor = procedure_executions_per_frequency(report->analysis);
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

json_t *
calc_check_json(const struct calc_report *report)
{
	const double factor = procedure_executions_per_frequency(report->analysis);
	double within[LIMITS] = {0};
	const double all = add_up(report, factor, within);
	json_t *shares = json_object();
	char name[16];
	int failed = !shares;

	for (size_t i = 0; i < LIMITS; i++) {
		snprintf(name, sizeof(name), "%g", limits[i]);
		failed |= json_object_set_new(shares, name, json_real(within[i]));
	}
	return json_pack("{s:f, s:f, s:o}", "executions_per_frequency", factor, "samples", all, "within_percent",
	                 json_kept(shares, failed));
}
