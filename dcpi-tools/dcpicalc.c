/*
 * dcpicalc - the cycles of a procedure, instruction by instruction, and what they were lost for: man/dcpicalc.1.scd
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure.h"
#include "base/error.h"
#include "dcpi-tools/calc/graph.h"
#include "dcpi-tools/calc/listing.h"
#include "dcpi-tools/calc/references.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/breakdown.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"

const char *argp_program_version = "dcpicalc " DCPI_VERSION;

/* What frequencies are to come from. */
enum calc_frequency_source {
	FROM_BEST,
	FROM_EXACT,
	FROM_BRANCHES,
	FROM_INSTRUCTIONS,
	FROM_BURSTS,
	FROM_SAMPLES, /* of time */
};

/* What the user asked for. */
struct calc_request {
	struct procedure_options procedure;
	const char *event; /* NULL: choose */
	const char *cpu;   /* a model's name or file; NULL: by the epoch's CPU */
	const char *graph; /* file to write; NULL: a listing */
	enum calc_frequency_source from;
	double cutoff_percent;
	bool summary, legend, check;
};

struct calc_report {
	const struct calc_request *request;
	struct selection *selection;
	uint16_t event;
	struct procedure_choice choice;
	struct model_choice model;
	struct path_records records;
	struct procedure_analysis *analysis;
	struct calc_references *references; /* NULL: not known */
	struct other_cores left_out;        /* of the procedure */
};

/* The paths of the record, if frequencies may come `from` it. */
static const struct procedure_paths *
wanted_paths(const struct calc_report *report, enum calc_frequency_source from, const struct path_record *record)
{
	return report->request->from == FROM_BEST || report->request->from == from ? &record->paths : NULL;
}

/* Which command records exact counts for such samples. */
static const char *
counting_command(const struct calc_report *report)
{
	return path_records_emulated_epoch(report->selection)
	               ? "'dcpiemu run' takes them, unless --model leaves 'counts' out"
	               : "'dcpix -- PROGRAM' takes them";
}

/* Refuse a source that was asked for and is not there: an exit status. */
static int
check_source(const struct calc_report *report)
{
	const struct {
		enum frequency_method method;
		const char *missing, *command;
	} sources[] = {
		[FROM_EXACT] = {FREQUENCY_COUNTED, "exact counts", counting_command(report)},
		[FROM_BRANCHES] = {FREQUENCY_BRANCHES, "branch stacks", NULL},
		[FROM_INSTRUCTIONS] = {FREQUENCY_RETIRED, "samples of instructions",
	                               "dcpid takes them, where the machine counts these"},
		[FROM_BURSTS] = {FREQUENCY_BURSTS, "bursts", "'dcpix --bursts -p PID' takes them"},
	};
	const enum calc_frequency_source from = report->request->from;
	uint32_t epoch;

	if (from == FROM_BEST || from == FROM_SAMPLES ||
	    frequency_source(report->analysis, &report->records, &epoch) == sources[from].method)
		return STATUS_OK;
	message_print(report->request->procedure.name, "there are no %s of it%s%s", sources[from].missing,
	              sources[from].command ? ": " : "", sources[from].command ? sources[from].command : "");
	return STATUS_EMPTY;
}

static int
analyze(struct calc_report *report)
{
	const enum calc_frequency_source from = report->request->from;
	const struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->event,
		.pipeline = &report->model.pipeline,
		.exact = &report->records.exact.paths,
		.branches = wanted_paths(report, FROM_BRANCHES, &report->records.branches),
		.bursts = wanted_paths(report, FROM_BURSTS, &report->records.bursts),
		.ignore_exact = report->request->check || (from != FROM_BEST && from != FROM_EXACT),
		.ignore_retired = from != FROM_BEST && from != FROM_INSTRUCTIONS,
	};
	int err = procedure_analyze(&input, &report->analysis);

	if (err)
		return message_cannot(report->request->procedure.name, "analyse the procedure", err,
		                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
	if (!report->request->check || report->analysis->executions)
		return check_source(report);
	message_print(report->request->procedure.name, "there are no exact counts of it to compare with: %s",
	              counting_command(report));
	return STATUS_EMPTY;
}

/* What reads the image's files. An exit status. */
static int
analyze_procedure(struct calc_report *report, struct database *database)
{
	const struct calc_request *request = report->request;
	int status, err;

	status = procedure_choose(report->selection, &report->request->procedure, report->event, &report->choice);
	if (!status)
		status = model_ask(report->selection, request->cpu, report->event, &report->model);
	if (status)
		return status;
	err = path_records_read(database->profile, report->selection,
	                        report->selection->images[report->choice.found.code.index].number, &report->records);
	if (err)
		return database_cannot_read(database, err);
	status = analyze(report);
	if (status)
		return status;
	err = references_read(database->profile, &report->choice.found.code, report->analysis->graph,
	                      &report->references);
	if (err)
		return database_cannot_read(database, err);
	for (size_t event = 0, at = 0; event < report->selection->event_count; event++)
		for (size_t i = 0; i < report->analysis->graph->instruction_count; i++)
			other_cores_add(&report->left_out, report->selection, report->event, event,
			                report->analysis->samples[at++]);
	return STATUS_OK;
}

static int
calc_report_make(struct calc_report *report, const struct calc_request *request, struct database *database)
{
	struct image_guard guard;
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->procedure.options.request, &report->selection);
	if (!status)
		status = time_event_ask(report->selection, request->event, database->directory, &report->event);
	if (status)
		return status;
	image_guard_enter(&guard, request->procedure.name, NULL);
	status = analyze_procedure(report, database);
	image_guard_leave(&guard);
	return status;
}

static void
calc_report_fini(struct calc_report *report)
{
	references_free(report->references);
	procedure_analysis_free(report->analysis);
	path_records_fini(&report->records);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

static void
calc_instruction_text(const struct calc_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}

/* ---- executions that are estimated from samples, compared with exact counts, by instruction ---- */

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

static int
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
		if (listing_block_percent(report->analysis, i) >= report->request->cutoff_percent)
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

static json_t *
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

/* ---- the listing with what is said above and below it ---- */

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
	const struct listing_source source = {
		.analysis = report->analysis,
		.code = &report->choice.found.code,
		.syntax = report->request->procedure.syntax,
		.cutoff_percent = report->request->cutoff_percent,
		.is_in_order = report->model.pipeline.kind == PIPELINE_KIND_IN_ORDER,
		.references = report->references,
	};
	struct listing listing;
	size_t dropped;
	int err;

	err = listing_make(&source, &listing, &dropped);
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

static int
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

/* ---- schema dcpicalc/1 ---- */

/* A number, or null for what is not known (below 0). */
static json_t *
known(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *
frequency_json(const struct calc_report *report, const struct frequency *frequency)
{
	const double executions = frequency->value * report->analysis->cycles_per_sample;
	const bool is_known = frequency->confidence != CONFIDENCE_NONE;
	const bool has_executions = is_known && executions > 0 && !report->analysis->frequencies.is_relative;

	return json_pack("{s:o, s:o, s:s, s:s}", "value", known(is_known ? frequency->value : -1), "executions",
	                 known(has_executions ? executions : -1), "confidence",
	                 frequency_confidence_name(frequency->confidence), "method",
	                 frequency_method_name(frequency->method));
}

/* Add the samples of an instruction by all events that could be counted. */
static int
add_samples(const struct calc_report *report, uint32_t instruction, json_t *object)
{
	const struct procedure_analysis *analysis = report->analysis;
	const size_t count = analysis->graph->instruction_count;
	uint64_t samples[SELECTION_EVENTS_MAX], taken[SELECTION_EVENTS_MAX];
	struct shown_events shown_events = {0};

	for (size_t i = 0; i < analysis->event_count; i++) {
		samples[i] = analysis->samples[i * count + instruction];
		taken[i] = analysis->taken[i * count + instruction];
		if (report->selection->events[i].available)
			shown_events.events[shown_events.count++] = (uint16_t)i;
	}
	return shown_events_json_add(object, "samples", report->selection, &shown_events, samples, taken);
}

static json_t *
static_stalls_json(const struct schedule *schedule, uint32_t index)
{
	json_t *stalls = json_array();
	int failed = !stalls;

	for (size_t i = 0; i < schedule->stall_count; i++) {
		const struct static_stall *stall = &schedule->stalls[i];

		if (stall->instruction != index)
			continue;
		failed |= json_array_append_new(
			stalls, json_pack("{s:s, s:f, s:o}", "reason", stall_reason_name(stall->reason), "cycles",
		                          stall->half_cycles / 2.0, "culprit",
		                          stall->culprit == SCHEDULE_NOTHING ? json_null()
		                                                             : json_count(stall->culprit_address)));
	}
	return json_kept(stalls, failed);
}

static json_t *
stalls_json(const struct stalls *stalls, uint32_t instruction)
{
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	json_t *array = json_array();
	int failed = !array;

	for (uint32_t i = 0; i < late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[late->stall + i];
		json_t *culprits = json_array();

		for (uint32_t k = 0; k < stall->culprit_count; k++)
			failed |= json_array_append_new(culprits, json_count(stalls->culprits[stall->culprit + k]));
		failed |= json_array_append_new(array, json_pack("{s:s, s:f, s:f, s:o}", "reason",
		                                                 stall_cause_name(stall->cause), "low", stall->low,
		                                                 "high", stall->high, "culprits", culprits));
	}
	return json_kept(array, failed);
}

static json_t *
instruction_json(const struct calc_report *report, uint32_t block_index, uint32_t index)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct schedule *schedule = &analysis->schedules[block_index];
	const uint32_t at = analysis->graph->blocks[block_index].first + index;
	json_t *references = references_json(report->references, at), *object;
	char text[INSTRUCTION_TEXT_SIZE];

	calc_instruction_text(report, at, text);
	object = json_pack("{s:o, s:s, s:f, s:o, s:o, s:f, s:b, s:b, s:o, s:f, s:f, s:o}", "address",
	                   json_count(analysis->graph->instructions[at].address), "text", text, "held",
	                   analysis->frequencies.samples[at], "executions",
	                   analysis->executions ? json_count(analysis->executions[at]) : json_null(), "cycles",
	                   known(procedure_instruction_cycles(analysis, block_index, at)), "best_cycles",
	                   schedule->lines[index].minimum_cycles, "dual_issue", schedule->lines[index].dual, "critical",
	                   schedule->lines[index].critical, "static_stalls", static_stalls_json(schedule, index),
	                   "stall_cycles", analysis->stalls.instructions[at].stall_cycles, "unexplained",
	                   analysis->stalls.instructions[at].unexplained, "stalls", stalls_json(&analysis->stalls, at));
	return json_kept(object, add_samples(report, at, object) ||
	                                 (references && json_object_set_new(object, "references", references)));
}

static json_t *
block_json(const struct calc_report *report, uint32_t index)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const struct schedule *schedule = &analysis->schedules[index];
	json_t *instructions = json_array();
	int failed = !instructions;

	for (uint32_t i = 0; i < block->count && !failed; i++)
		failed |= json_array_append_new(instructions, instruction_json(report, index, i));
	return json_pack(
		"{s:I, s:o, s:b, s:f, s:f, s:o, s:f, s:s, s:o, s:o}", "block", (json_int_t)index, "address",
		json_count(analysis->graph->instructions[block->first].address), "cold", block->is_cold, "samples",
		procedure_block_samples(analysis, index), "percent", listing_block_percent(report->analysis, index),
		"frequency", frequency_json(report, &analysis->frequencies.blocks[index]), "best_cycles",
		schedule->best_cycles, "bound", schedule_bound_name(schedule->bound), "actual_cycles",
		known(procedure_block_cycles(analysis, index)), "instructions", json_kept(instructions, failed));
}

static json_t *
place_json(uint32_t block)
{
	return block == FLOW_OUTSIDE ? json_null() : json_integer(block);
}

static json_t *
edge_json(const struct calc_report *report, uint32_t index)
{
	static const char *const kinds[EDGE_KIND_COUNT] = {
		[EDGE_FALL] = "fall",         [EDGE_TAKEN] = "taken",     [EDGE_TABLE] = "table",
		[EDGE_UNKNOWN] = "unknown",   [EDGE_ENTRY] = "entry",     [EDGE_EXIT] = "exit",
		[EDGE_NORETURN] = "noreturn", [EDGE_ENDLESS] = "endless",
	};
	const struct flow_edge *edge = &report->analysis->graph->edges[index];

	return json_pack("{s:o, s:o, s:s, s:o}", "from", place_json(edge->from), "to", place_json(edge->to), "kind",
	                 edge->kind < EDGE_KIND_COUNT ? kinds[edge->kind] : "?", "frequency",
	                 frequency_json(report, &report->analysis->frequencies.edges[index]));
}

static json_t *
blocks_json(const struct calc_report *report)
{
	json_t *blocks = json_array();
	int failed = !blocks;

	for (uint32_t i = 0; i < report->analysis->graph->block_count && !failed; i++)
		if (listing_block_percent(report->analysis, i) >= report->request->cutoff_percent)
			failed |= json_array_append_new(blocks, block_json(report, i));
	return json_kept(blocks, failed);
}

static json_t *
edges_json(const struct calc_report *report)
{
	json_t *edges = json_array();
	int failed = !edges;

	for (uint32_t i = 0; i < report->analysis->graph->edge_count && !failed; i++)
		failed |= json_array_append_new(edges, edge_json(report, i));
	return json_kept(edges, failed);
}

static json_t *
event_json(const struct calc_report *report)
{
	const struct selection_event *event = &report->selection->events[report->event];

	json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "name", event->name, "unit", event->unit, "period",
	                           event->period ? json_count(event->period) : json_null(), "samples",
	                           json_count(report->analysis->time_samples));

	if (!event->is_weighted)
		return object;
	return json_kept(object, json_object_set_new(object, "taken", json_count(report->analysis->time_taken)));
}

static int
calc_report_print_json(const struct calc_report *report, FILE *stream)
{
	const struct procedure_analysis *analysis = report->analysis;
	json_t *root = procedure_choice_json(&report->choice, "dcpicalc/1");
	json_t *graph = json_pack("{s:b, s:i, s:b, s:b}", "complete", analysis->graph->is_complete, "unresolved_jumps",
	                          (int)analysis->graph->unresolved_jumps, "relative", analysis->frequencies.is_relative,
	                          "rough", analysis->frequencies.is_rough);
	struct breakdown breakdown;
	int failed = 0;

	breakdown_make(&analysis->summary, analysis->summary.actual, &breakdown);
	failed |= json_object_set_new(root, "event", event_json(report));
	failed |= other_cores_json(&report->left_out, report->selection, root);
	failed |= json_object_set_new(root, "model", model_json(&report->model));
	failed |= json_object_set_new(root, "graph", graph);
	failed |= json_object_set_new(root, "source", frequency_source_json(analysis, &report->records));
	failed |= json_object_set_new(root, "blocks", blocks_json(report));
	failed |= json_object_set_new(root, "edges", edges_json(report));
	failed |= json_object_set_new(root, "summary", breakdown_json(&breakdown));
	if (report->request->check)
		failed |= json_object_set_new(root, "check", calc_check_json(report));
	return json_print(json_kept(root, failed), stream);
}

static int
calc_report_draw(const struct calc_report *report)
{
	const struct graph_source source = {
		.analysis = report->analysis,
		.code = &report->choice.found.code,
		.syntax = report->request->procedure.syntax,
		.cutoff_percent = report->request->cutoff_percent,
		.procedure = report->choice.title,
		.image = report->choice.titles[report->choice.found.code.index],
	};

	return graph_draw(&source, report->request->graph);
}

static void
parse_from(void *member, char *text, struct argp_state *state)
{
	static const char *const names[] = {
		[FROM_EXACT] = "exact",   [FROM_BRANCHES] = "branches", [FROM_INSTRUCTIONS] = "instructions",
		[FROM_BURSTS] = "bursts", [FROM_SAMPLES] = "samples",
	};

	for (size_t i = FROM_EXACT; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			*(enum calc_frequency_source *)member = (enum calc_frequency_source)i;
			return;
		}
	argp_error(state, "--from takes exact, branches, instructions, bursts or samples");
}

static void
check(void *checked, struct argp_state *state)
{
	const struct calc_request *request = checked;

	if (request->check && request->from == FROM_EXACT)
		argp_error(state, "--check compares with the exact counts: --from another source");
}

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is shown:"),
	OPTION_PROCEDURE_IMAGE(struct calc_request, procedure.options),
	OPTION_TIME_EVENT(struct calc_request, event),
	OPTION_CPU(struct calc_request, cpu),
	OPTION_CALL(1, "from", 0, "SOURCE", offsetof(struct calc_request, from), parse_from,
                    "Frequencies from exact counts, branches, instructions, bursts or samples (default: the best there "
                    "is)"),
	OPTION_TRUE(1, "summary", 0, struct calc_request, summary, "Only where the cycles went, no instructions"),
	OPTION_DOUBLE(1, "cutoff", "PERCENT", struct calc_request, cutoff_percent, 0, 100,
                      "Leave out blocks with less of the procedure's time"),
	OPTION_TRUE(1, "check", 0, struct calc_request, check,
                    "Compare the estimated executions with those that dcpix or dcpiemu counted"),
	OPTION_TEXT(1, "graph", "FILE", struct calc_request, graph,
                    "Draw the flow graph into FILE (.svg, .png, .pdf or .dot; - is SVG on standard output) instead"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_HEADING(3, "How it is shown:"),
	OPTION_SYNTAX(struct calc_request, procedure.syntax, SYNTAX_HELP),
	OPTION_TRUE(3, "legend", 0, struct calc_request, legend, "Explain letters and words below"),
	OPTION_ARGUMENT(offsetof(struct calc_request, procedure), procedure_options_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "PROCEDURE [IMAGE...]",
	.doc = "Show the cycles of a procedure, instruction by instruction, and what they were lost for.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpicalc(1).",
	.shared = SHARED_DATABASE | SHARED_SELECTION | SHARED_OUTPUT,
	.options = offsetof(struct calc_request, procedure.options),
	.argument_missing = PROCEDURE_MISSING,
	.check = check,
};

static int
draw(const struct report *report)
{
	const struct calc_report *drawn = (const void *)report;

	return drawn->request->graph ? calc_report_draw(drawn) : TOOL_PRINTS;
}

TOOL_DEFINE(calc, .act = draw)

int
main(int argc, char **argv)
{
	struct calc_request request = {0};
	struct calc_report report;

	return tool_run(&tool, &request, &report, argc, argv);
}
