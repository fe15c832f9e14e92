/* Schema dcpicalc/1: man/dcpicalc.1.scd. */
#include <stdlib.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/path_records.h"

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
	struct columns columns = {0};

	for (size_t i = 0; i < analysis->event_count; i++) {
		samples[i] = analysis->samples[i * count + instruction];
		taken[i] = analysis->taken[i * count + instruction];
		if (report->selection->events[i].available)
			columns.events[columns.count++] = (uint16_t)i;
	}
	return columns_json_add(object, "samples", report->selection, &columns, samples, taken);
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
	char text[INSTRUCTION_TEXT_SIZE];
	json_t *object;

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
	return json_kept(object, add_samples(report, at, object));
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
		procedure_block_samples(analysis, index), "percent", calc_block_percent(report, index), "frequency",
		frequency_json(report, &analysis->frequencies.blocks[index]), "best_cycles", schedule->best_cycles,
		"bound", schedule_bound_name(schedule->bound), "actual_cycles",
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
		if (calc_block_percent(report, i) >= report->request->cutoff_percent)
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

int
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
