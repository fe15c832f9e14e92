/* The listing with what is said above and below it. */
#include <inttypes.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"

static void
print_where(const struct calc_report *report, const struct output *output)
{
	const struct flow_graph *graph = report->analysis->graph;
	const struct instruction *instructions = graph->instructions;
	FILE *stream = output->stream;
	uint32_t first = 0;

	fputs(output_style(output, STYLE_HEADING), stream);
	text_print(report->choice.title, stream);
	fputs(output_plain(output, STYLE_HEADING), stream);
	fputs(" in ", stream);
	text_print(report->choice.titles[report->choice.found.code.index], stream);
	for (uint32_t i = 0; i < graph->instruction_count; i++) {
		const uint64_t end = instructions[i].address + instructions[i].size;

		if (i + 1 < graph->instruction_count && instructions[i + 1].address == end)
			continue;
		fprintf(stream, "%s 0x%" PRIx64 " to 0x%" PRIx64, first ? " and" : ",", instructions[first].address,
		        end - 1);
		first = i + 1;
	}
	fputc('\n', stream);
}

static void
print_doubts(const struct calc_report *report, const struct output *output)
{
	const struct flow_graph *graph = report->analysis->graph;
	FILE *stream = output->stream;

	fputs(output_style(output, STYLE_WARNING), stream);
	frequency_source_print(report->analysis, &report->records, stream);
	if (!graph->is_complete && graph->unresolved_jumps)
		fprintf(stream, "Flow graph: %u jump%s could not be followed: frequencies are less certain\n",
		        graph->unresolved_jumps, graph->unresolved_jumps > 1 ? "s" : "");
	else if (!graph->is_complete)
		fputs("Flow graph: there are bytes that could not be decoded: frequencies are less certain\n", stream);
	if (report->analysis->frequencies.is_rough)
		fputs("Frequency:  the search took too long and was ended: they are near those that fit best\n",
		      stream);
	fputs(output_plain(output, STYLE_WARNING), stream);
}

static int
print_blocks(const struct calc_report *report, const struct output *output)
{
	struct listing listing;
	size_t dropped;
	int err;

	err = listing_make(report, &listing, &dropped);
	if (err)
		return err;
	fputc('\n', output->stream);
	listing_print(&listing, output);
	if (dropped)
		fprintf(output->stream, "\n(%zu block%s with less than %g%% of the time %s left out)\n", dropped,
		        dropped > 1 ? "s" : "", report->request->cutoff_percent, dropped > 1 ? "are" : "is");
	listing_fini(&listing);
	return 0;
}

int
calc_report_print_text(const struct calc_report *report, const struct output *output)
{
	struct breakdown breakdown;
	int err;

	print_where(report, output);
	summary_print_samples(report->selection, report->event, report->analysis->time_samples, output->stream);
	other_cores_print(&report->left_out, report->selection, output);
	model_print(&report->model, output);
	print_doubts(report, output);
	if (report->request->check)
		return calc_check_print(report, output);
	if (!report->request->summary) {
		err = print_blocks(report, output);
		if (err)
			return err;
	}
	breakdown_make(&report->analysis->summary, report->analysis->summary.actual, &breakdown);
	fputc('\n', output->stream);
	if (breakdown.actual_cycles > 0)
		breakdown_print(&breakdown, output);
	else
		fputs("No frequency is known: there is nothing to sum up.\n", output->stream);
	if (report->request->legend) {
		fputc('\n', output->stream);
		listing_print_legend(output);
	}
	return 0;
}
