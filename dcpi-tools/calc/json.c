/* Schema dcpicalc/1: man/dcpicalc.1.scd. */
#include <stdlib.h>

#include "dcpi-tools/calc/report.h"
#include "dcpi-tools/common/frequency_source.h"
#include "dcpi-tools/common/json.h"

/* A number, or null for what is not known (below 0). */
static json_t *
known(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *
frequency_json(const struct report *report, const struct frequency *frequency)
{
	const double executions = frequency->value * report->analysis->cycles_per_sample;
	const bool is_known = frequency->confidence != CONFIDENCE_NONE;
	const bool has_executions = is_known && executions > 0 && !report->analysis->frequencies.is_relative;

	return json_pack("{s:o, s:o, s:s, s:s}", "value", known(is_known ? frequency->value : -1), "executions",
	                 known(has_executions ? executions : -1), "confidence",
	                 frequency_confidence_name(frequency->confidence), "method",
	                 frequency_method_name(frequency->method));
}

/* Add `samples`, and where those of some event are weighted, how many of it were `taken`. */
static int
add_samples(const struct report *report, uint32_t instruction, json_t *object)
{
	const struct procedure_analysis *analysis = report->analysis;
	const size_t count = analysis->graph->instruction_count;
	json_t *samples = json_object(), *taken = NULL;
	int failed = 0;

	for (size_t i = 0; i < analysis->event_count; i++) {
		const struct selection_event *event = &report->selection->events[i];

		if (!event->available)
			continue;
		failed |= json_object_set_new(samples, event->name,
		                              json_count(analysis->samples[i * count + instruction]));
		if (!event->is_weighted)
			continue;
		taken = taken ? taken : json_object();
		failed |= json_object_set_new(taken, event->name, json_count(analysis->taken[i * count + instruction]));
	}
	failed |= json_object_set_new(object, "samples", samples);
	return taken ? failed | json_object_set_new(object, "taken", taken) : failed;
}

static json_t *
static_stalls_json(const struct schedule *schedule, uint32_t index)
{
	json_t *stalls = json_array();

	for (size_t i = 0; stalls && i < schedule->stall_count; i++) {
		const struct static_stall *stall = &schedule->stalls[i];

		if (stall->instruction == index &&
		    json_array_append_new(stalls,
		                          json_pack("{s:s, s:f, s:o}", "reason", stall_reason_name(stall->reason),
		                                    "cycles", stall->half_cycles / 2.0, "culprit",
		                                    stall->culprit == SCHEDULE_NOTHING
		                                            ? json_null()
		                                            : json_count(stall->culprit_address)))) {
			json_decref(stalls);
			return NULL;
		}
	}
	return stalls;
}

static json_t *
culprits_json(const struct stalls *stalls, const struct stall *stall)
{
	json_t *culprits = json_array();

	for (uint32_t i = 0; culprits && i < stall->culprit_count; i++)
		if (json_array_append_new(culprits, json_count(stalls->culprits[stall->culprit + i]))) {
			json_decref(culprits);
			return NULL;
		}
	return culprits;
}

static json_t *
stalls_json(const struct stalls *stalls, uint32_t instruction)
{
	const struct instruction_stalls *late = &stalls->instructions[instruction];
	json_t *array = json_array();

	for (uint32_t i = 0; array && i < late->stall_count; i++) {
		const struct stall *stall = &stalls->stalls[late->stall + i];

		if (json_array_append_new(array, json_pack("{s:s, s:f, s:f, s:o}", "reason",
		                                           stall_cause_name(stall->cause), "low", stall->low, "high",
		                                           stall->high, "culprits", culprits_json(stalls, stall)))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *
instruction_json(const struct report *report, uint32_t block_index, uint32_t index)
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
block_json(const struct report *report, uint32_t index)
{
	const struct procedure_analysis *analysis = report->analysis;
	const struct flow_block *block = &analysis->graph->blocks[index];
	const struct schedule *schedule = &analysis->schedules[index];
	json_t *instructions = json_array();
	int failed = !instructions;

	for (uint32_t i = 0; i < block->count && !failed; i++)
		failed |= json_array_append_new(instructions, instruction_json(report, index, i));
	if (failed) {
		json_decref(instructions);
		return NULL;
	}
	return json_pack("{s:I, s:o, s:b, s:f, s:f, s:o, s:f, s:s, s:o, s:o}", "block", (json_int_t)index, "address",
	                 json_count(analysis->graph->instructions[block->first].address), "cold", block->is_cold,
	                 "samples", procedure_block_samples(analysis, index), "percent", block_percent(report, index),
	                 "frequency", frequency_json(report, &analysis->frequencies.blocks[index]), "best_cycles",
	                 schedule->best_cycles, "bound", schedule_bound_name(schedule->bound), "actual_cycles",
	                 known(procedure_block_cycles(analysis, index)), "instructions", instructions);
}

static json_t *
place_json(uint32_t block)
{
	return block == FLOW_OUTSIDE ? json_null() : json_integer(block);
}

static json_t *
edge_json(const struct report *report, uint32_t index)
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
blocks_json(const struct report *report)
{
	json_t *blocks = json_array();

	for (uint32_t i = 0; blocks && i < report->analysis->graph->block_count; i++) {
		if (block_percent(report, i) < report->request->cutoff_percent)
			continue;
		if (json_array_append_new(blocks, block_json(report, i))) {
			json_decref(blocks);
			return NULL;
		}
	}
	return blocks;
}

static json_t *
edges_json(const struct report *report)
{
	json_t *edges = json_array();

	for (uint32_t i = 0; edges && i < report->analysis->graph->edge_count; i++)
		if (json_array_append_new(edges, edge_json(report, i))) {
			json_decref(edges);
			return NULL;
		}
	return edges;
}

static json_t *
summary_json(const struct report *report)
{
	const struct stall_summary *summary = &report->analysis->summary;
	struct breakdown breakdown;

	breakdown_make(summary, summary->actual, &breakdown);
	return breakdown_json(&breakdown);
}

static json_t *
event_json(const struct report *report)
{
	const struct selection_event *event = &report->selection->events[report->event];

	json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "name", event->name, "unit", event->unit, "period",
	                           event->period ? json_count(event->period) : json_null(), "samples",
	                           json_count(report->analysis->time_samples));

	if (!event->is_weighted)
		return object;
	return json_kept(object, json_object_set_new(object, "taken", json_count(report->analysis->time_taken)));
}

static json_t *
graph_json(const struct report *report)
{
	const struct flow_graph *graph = report->analysis->graph;

	return json_pack("{s:b, s:i, s:b, s:b}", "complete", graph->is_complete, "unresolved_jumps",
	                 (int)graph->unresolved_jumps, "relative", report->analysis->frequencies.is_relative, "rough",
	                 report->analysis->frequencies.is_rough);
}

int
calc_report_print_json(const struct report *report, FILE *stream)
{
	json_t *root = procedure_choice_json(&report->choice, "dcpicalc/1");
	int failed = 0;

	failed |= json_object_set_new(root, "event", event_json(report));
	failed |= other_cores_json(&report->left_out, report->selection, root);
	failed |= json_object_set_new(root, "model", model_json(&report->model));
	failed |= json_object_set_new(root, "graph", graph_json(report));
	failed |= json_object_set_new(root, "source", frequency_source_json(report->analysis, &report->recorded));
	failed |= json_object_set_new(root, "blocks", blocks_json(report));
	failed |= json_object_set_new(root, "edges", edges_json(report));
	failed |= json_object_set_new(root, "summary", summary_json(report));
	if (report->request->check)
		failed |= json_object_set_new(root, "check", check_json(report));
	return json_print(json_kept(root, failed), stream);
}
