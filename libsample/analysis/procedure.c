#include "analysis/procedure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/skid.h"
#include "analysis/statistics.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#define BLOCKS_WITH_STATES    20000 /* in larger procedures, blocks are scheduled without their predecessors' state */
#define LEAST_GIGAHERTZ       0.4
#define PROCEDURE_LEAST_SHARE 0.5 /* of the samples: a summary of well known blocks with less has all known ones */

void
procedure_analysis_free(struct procedure_analysis *analysis)
{
	if (!analysis)
		return;
	for (size_t i = 0; analysis->schedules && i < analysis->graph->block_count; i++)
		schedule_fini(&analysis->schedules[i]);
	free(analysis->schedules);
	stalls_fini(&analysis->stalls);
	frequencies_fini(&analysis->frequencies);
	cycle_equivalence_fini(&analysis->classes);
	free(analysis->samples);
	free(analysis->taken);
	free(analysis->squares);
	free(analysis->executions);
	free(analysis->edge_counts);
	free(analysis->block_counts);
	flow_graph_free(analysis->graph);
	free(analysis);
}

int
procedure_choose_time_event(const struct selection *selection, const char *name, char *why, size_t size)
{
	static const char *const units[] = {"cycles", "ns"};
	char shown[EVENT_NAME_SIZE];

	*why = '\0';
	for (size_t i = 0; name && i < selection->event_count; i++)
		if (strcmp(selection->events[i].name, name) == 0 && selection->events[i].available)
			return (int)i;
	if (name) {
		snprintf(why, size, "%s was not counted in what was selected", escape_text(name, shown, sizeof(shown)));
		return -DCPI_ENOEVENT;
	}
	for (size_t unit = 0; unit < sizeof(units) / sizeof(units[0]); unit++)
		for (size_t i = 0; i < selection->event_count; i++)
			if (selection->events[i].available && strcmp(selection->events[i].unit, units[unit]) == 0)
				return (int)i;
	snprintf(why, size,
	         "no event of what was selected counts time: cycles or a clock; --event takes another for it");
	return -DCPI_ENOEVENT;
}

/* Samples, by instruction. */

static uint64_t
instruction_end(const struct instruction *instruction)
{
	return instruction->address + instruction->size;
}

bool
procedure_stretch_next(const struct procedure_input *input, const struct flow_graph *graph,
                       struct procedure_stretch *stretch)
{
	const struct instruction *instructions = graph->instructions;
	uint32_t i = stretch->last;

	if (i >= graph->instruction_count)
		return false;
	stretch->first = i;
	while (i + 1 < graph->instruction_count && instruction_end(&instructions[i]) == instructions[i + 1].address)
		i++;
	stretch->last = i + 1;
	stretch->start = stretch->end = 0;
	if (image_file_offset(input->code->file, instructions[stretch->first].address, &stretch->start) == 0)
		stretch->end =
			stretch->start + instruction_end(&instructions[i]) - instructions[stretch->first].address;
	return true;
}

/* The instruction of the stretch that holds `offset`: a walk from `at` on, for offsets that ascend. */
static uint32_t
stretch_advance(const struct flow_graph *graph, const struct procedure_stretch *stretch, uint64_t offset, uint32_t at)
{
	const uint64_t address = graph->instructions[stretch->first].address + (offset - stretch->start);

	while (at + 1 < stretch->last && instruction_end(&graph->instructions[at]) <= address)
		at++;
	return at;
}

static int
add_samples(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	const struct selection *selection = input->selection;
	const size_t instructions = analysis->graph->instruction_count;
	struct procedure_stretch stretch = {0};

	analysis->event_count = selection->event_count;
	analysis->samples = calloc(selection->event_count * instructions + 1, sizeof(*analysis->samples));
	analysis->taken = calloc(selection->event_count * instructions + 1, sizeof(*analysis->taken));
	analysis->squares = calloc(instructions + 1, sizeof(*analysis->squares));
	if (!analysis->samples || !analysis->taken || !analysis->squares)
		return -ENOMEM;
	while (procedure_stretch_next(input, analysis->graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = code_image_first_count(selection, input->code->index, stretch.start);
		     i < selection->count_count; i++) {
			const struct selection_count *count = &selection->counts[i];

			if (count->image != input->code->index || count->offset >= stretch.end)
				break;
			at = stretch_advance(analysis->graph, &stretch, count->offset, at);
			analysis->samples[count->event * instructions + at] += count->count;
			analysis->taken[count->event * instructions + at] += count->taken;
			if (count->event == input->event) {
				analysis->time_samples += count->count;
				analysis->time_taken += count->taken;
				analysis->squares[at] += count->squares;
				analysis->time_squares += count->squares;
			}
		}
	}
	return 0;
}

/* Recorded paths, by edges and blocks of a flow graph. */

static const struct instruction *
last_instruction(const struct flow_graph *graph, uint32_t block)
{
	return &graph->instructions[graph->blocks[block].first + graph->blocks[block].count - 1];
}

static uint32_t
edge_to(const struct flow_graph *graph, uint32_t block, uint32_t target)
{
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->out_count; i++)
		if (graph->edges[graph->outs[at->out + i]].to == target)
			return graph->outs[at->out + i];
	return PROCEDURE_NO_EDGE;
}

/* Where a call returns to is not entered. */
static uint32_t
entry_of(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_block *at = &graph->blocks[block];
	uint32_t entry = PROCEDURE_NO_EDGE;

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i];

		if (graph->edges[edge].kind == EDGE_ENTRY)
			entry = edge;
		else if (graph->edges[edge].from != FLOW_OUTSIDE && graph->edges[edge].kind == EDGE_FALL &&
		         instruction_is_call(last_instruction(graph, graph->edges[edge].from)))
			return PROCEDURE_NO_EDGE;
	}
	return entry;
}

uint32_t
procedure_edge_find(const struct flow_graph *graph, uint64_t from, uint64_t to)
{
	const uint32_t source = flow_graph_block_at(graph, from), target = flow_graph_block_at(graph, to);
	const bool is_inside = target != FLOW_OUTSIDE;

	if (is_inside && graph->instructions[graph->blocks[target].first].address != to)
		return PROCEDURE_NO_EDGE;
	if (source == FLOW_OUTSIDE)
		return is_inside ? entry_of(graph, target) : PROCEDURE_NO_EDGE;
	if (last_instruction(graph, source)->address != from)
		return PROCEDURE_NO_EDGE;
	if (instruction_is_call(last_instruction(graph, source))) /* of itself, perhaps */
		return is_inside ? entry_of(graph, target) : PROCEDURE_NO_EDGE;
	return edge_to(graph, source, target);
}

/* An instruction is in one stretch; offsets ascend in each. */
uint64_t *
procedure_visits(const struct procedure_input *input, const struct flow_graph *graph,
                 const struct procedure_paths *paths)
{
	uint64_t *visits = calloc(graph->instruction_count + 1, sizeof(*visits));
	struct procedure_stretch stretch = {0};

	while (visits && procedure_stretch_next(input, graph, &stretch)) {
		uint32_t at = stretch.first;

		for (size_t i = ARRAY_LOWER_BOUND(paths->visits, paths->visit_count, offset, stretch.start);
		     i < paths->visit_count; i++) {
			const struct selection_count *count = &paths->visits[i];

			if (count->offset >= stretch.end)
				break;
			at = stretch_advance(graph, &stretch, count->offset, at);
			visits[at] += count->count;
		}
	}
	return visits;
}

/* Those edges of an image that have one end in a stretch: of a list that ascends by that end. */
struct edge_range {
	const struct procedure_edge *first, *last; /* last is one behind */
};

static const struct procedure_edge *
edge_at(const struct procedure_edge *edges, size_t count, bool is_arrival, uint64_t offset)
{
	return edges + (is_arrival ? ARRAY_LOWER_BOUND(edges, count, to, offset)
	                           : ARRAY_LOWER_BOUND(edges, count, from, offset));
}

static struct edge_range
edges_within(const struct procedure_edge *edges, size_t count, bool is_arrival, const struct procedure_stretch *stretch)
{
	return (struct edge_range){edge_at(edges, count, is_arrival, stretch->start),
	                           edge_at(edges, count, is_arrival, stretch->end)};
}

static bool
edge_addresses(const struct procedure_input *input, const struct procedure_edge *edge, uint64_t *from, uint64_t *to)
{
	return image_file_address(input->code->file, edge->from, from) == 0 &&
	       image_file_address(input->code->file, edge->to, to) == 0;
}

/* What begins in a block is seen where it begins, anything else where it arrives: each once. */
static void
count_range(const struct procedure_input *input, const struct flow_graph *graph, const struct edge_range *range,
            bool is_arrival, uint64_t *seen)
{
	for (const struct procedure_edge *at = range->first; at < range->last; at++) {
		uint64_t from, to;
		uint32_t edge;

		if (!edge_addresses(input, at, &from, &to) ||
		    (flow_graph_block_at(graph, from) == FLOW_OUTSIDE) != is_arrival)
			continue;
		edge = procedure_edge_find(graph, from, to);
		if (edge != PROCEDURE_NO_EDGE)
			seen[edge] += at->count;
	}
}

static void
count_edges(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
            uint64_t *seen)
{
	struct procedure_stretch stretch = {0};

	while (procedure_stretch_next(input, graph, &stretch)) {
		const struct edge_range leave = edges_within(paths->edges, paths->edge_count, false, &stretch);
		const struct edge_range arrive = edges_within(paths->arrivals, paths->edge_count, true, &stretch);

		count_range(input, graph, &leave, false, seen);
		count_range(input, graph, &arrive, true, seen);
	}
}

static uint32_t
fall_of(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_block *at = &graph->blocks[block];

	for (uint32_t i = 0; i < at->out_count; i++) {
		const struct flow_edge *edge = &graph->edges[graph->outs[at->out + i]];

		if (edge->kind == EDGE_FALL && edge->to != FLOW_OUTSIDE)
			return graph->outs[at->out + i];
	}
	return PROCEDURE_NO_EDGE;
}

/* Blocks ascend within a part, and a run does not leave it: there is an end to it. */
static void
count_run(const struct flow_graph *graph, uint64_t from, uint64_t to, uint64_t count, uint64_t *seen)
{
	const uint32_t last = flow_graph_block_at(graph, to);
	uint32_t at = flow_graph_block_at(graph, from);

	while (at != FLOW_OUTSIDE && last != FLOW_OUTSIDE && at < last) {
		const uint32_t edge = fall_of(graph, at);

		if (edge == PROCEDURE_NO_EDGE || graph->edges[edge].to <= at)
			return;
		seen[edge] += count;
		at = graph->edges[edge].to;
	}
}

static void
count_runs(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
           uint64_t *seen)
{
	struct procedure_stretch stretch = {0};

	while (paths->run_count > 0 && procedure_stretch_next(input, graph, &stretch)) {
		const struct edge_range range = edges_within(paths->runs, paths->run_count, false, &stretch);

		for (const struct procedure_edge *run = range.first; run < range.last; run++) {
			uint64_t from, to;

			if (edge_addresses(input, run, &from, &to))
				count_run(graph, from, to, run->count, seen);
		}
	}
}

/* What left to other images is in no edge, but the block's last instruction was executed. */
static void
count_exits(const struct flow_graph *graph, const uint64_t *visits, uint64_t *seen)
{
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t edge = edge_to(graph, i, FLOW_OUTSIDE);
		uint64_t left = visits[i];

		for (uint32_t k = 0; k < block->out_count; k++) {
			const uint64_t known = seen[graph->outs[block->out + k]];

			left -= known < left ? known : left;
		}
		if (edge != PROCEDURE_NO_EDGE && graph->edges[edge].kind == EDGE_EXIT)
			seen[edge] += left;
	}
}

static int
count_visits(const struct procedure_input *input, const struct flow_graph *graph, const struct procedure_paths *paths,
             struct procedure_path_counts *counts)
{
	uint64_t *visits = procedure_visits(input, graph, paths);

	counts->visits = calloc(graph->block_count + 1, sizeof(*counts->visits));
	for (uint32_t i = 0; i < graph->block_count && visits && counts->visits; i++)
		counts->visits[i] = visits[graph->blocks[i].first + graph->blocks[i].count - 1];
	free(visits);
	return visits && counts->visits ? 0 : -ENOMEM;
}

int
procedure_path_counts_init(struct procedure_path_counts *counts, const struct procedure_input *input,
                           const struct flow_graph *graph, const struct procedure_paths *paths)
{
	int err;

	*counts = (struct procedure_path_counts){0};
	if (!paths || paths->edge_count == 0)
		return 0;
	counts->edges = calloc(graph->edge_count + 1, sizeof(*counts->edges));
	if (!counts->edges)
		return -ENOMEM;
	count_edges(input, graph, paths, counts->edges);
	count_runs(input, graph, paths, counts->edges);
	if (paths->visit_count == 0)
		return 0;
	err = count_visits(input, graph, paths, counts);
	if (err)
		return err;
	count_exits(graph, counts->visits, counts->edges);
	return 0;
}

void
procedure_path_counts_fini(struct procedure_path_counts *counts)
{
	free(counts->edges);
	free(counts->visits);
}

/* Exact counts, by instruction and by edge. */

/* What a block's edges on one side do not account for. */
static uint64_t
deficit(const struct procedure_analysis *analysis, uint32_t block, const uint32_t *edges, uint32_t count)
{
	uint64_t left = analysis->executions[analysis->graph->blocks[block].first];

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t known = analysis->edge_counts[edges[i]];

		left -= known < left ? known : left;
	}
	return left;
}

static void
add_deficit(struct procedure_analysis *analysis, const uint32_t *edges, uint32_t count, uint64_t left,
            enum flow_edge_kind kind)
{
	for (uint32_t i = 0; i < count && left; i++) {
		if (analysis->graph->edges[edges[i]].kind != kind)
			continue;
		analysis->edge_counts[edges[i]] += left;
		left = 0;
	}
}

/*
 * A call was counted as an edge to what it calls, and its return as one from there; in the graph it falls through.
 * Edges to and from other images were not counted at all. Blocks were: what their edges do not account for went there.
 */
static void
complete_edges(struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t *outs = graph->outs + block->out;
		const struct instruction *last = last_instruction(graph, i);
		const bool falls = last->flow == FLOW_NEXT || instruction_is_call(last);
		const uint64_t left = deficit(analysis, i, outs, block->out_count);

		add_deficit(analysis, outs, block->out_count, left, falls ? EDGE_FALL : EDGE_EXIT);
	}
	for (uint32_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const uint32_t *ins = graph->ins + block->in;

		add_deficit(analysis, ins, block->in_count, deficit(analysis, i, ins, block->in_count), EDGE_ENTRY);
	}
}

static int
add_edge_counts(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	struct procedure_path_counts counts;
	int err;

	err = procedure_path_counts_init(&counts, input, analysis->graph, input->exact);
	if (err) {
		procedure_path_counts_fini(&counts);
		return err;
	}
	free(counts.visits);
	analysis->edge_counts = counts.edges;
	if (counts.edges)
		complete_edges(analysis);
	return 0;
}

static int
add_executions(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	if (!input->exact || !input->exact->visit_count)
		return 0;
	analysis->executions = procedure_visits(input, analysis->graph, input->exact);
	if (!analysis->executions)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->graph->instruction_count; i++)
		if (analysis->executions[i] > 0)
			return add_edge_counts(input, analysis);
	free(analysis->executions);
	analysis->executions = NULL;
	return 0;
}

/* The least time of each block. */

/* The state of the pipeline that a block leaves. */
static int
schedule_end_state(const struct pipeline *pipeline, const struct flow_graph *graph, uint32_t block,
                   struct schedule_state *after)
{
	const struct flow_block *at = &graph->blocks[block];
	struct schedule schedule;
	int err;

	memset(after, 0, sizeof(*after));
	err = schedule_block(pipeline, graph->instructions + at->first, at->count, false, NULL, after, &schedule);
	if (!err)
		schedule_fini(&schedule);
	return err;
}

/* What the predecessors leave, at best. */
static void
schedule_begin_state(const struct flow_graph *graph, uint32_t block, const struct schedule_state *states,
                     struct schedule_state *before)
{
	const struct flow_block *at = &graph->blocks[block];

	memset(before, 0, sizeof(*before));
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t from = graph->edges[graph->ins[at->in + i]].from;

		if (from == FLOW_OUTSIDE) {
			memset(before, 0, sizeof(*before));
			return;
		}
		if (i == 0)
			*before = states[from];
		else
			schedule_state_meet(before, &states[from]);
	}
}

static int
add_schedules(const struct pipeline *pipeline, struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	const bool in_order = pipeline->kind == PIPELINE_KIND_IN_ORDER && graph->block_count <= BLOCKS_WITH_STATES;
	struct schedule_state *states = in_order ? calloc(graph->block_count + 1, sizeof(*states)) : NULL;
	int err = 0;

	analysis->schedules = calloc(graph->block_count + 1, sizeof(*analysis->schedules));
	if (!analysis->schedules || (in_order && !states))
		err = -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count && states && !err; i++)
		err = schedule_end_state(pipeline, graph, i, &states[i]);
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		const struct flow_block *block = &graph->blocks[i];
		struct schedule_state before;

		if (states)
			schedule_begin_state(graph, i, states, &before);
		err = schedule_block(pipeline, graph->instructions + block->first, block->count,
		                     edge_to(graph, i, i) != PROCEDURE_NO_EDGE, states ? &before : NULL, NULL,
		                     &analysis->schedules[i]);
	}
	free(states);
	return err;
}

/* Time by blocks and instructions. */

double
procedure_block_samples(const struct procedure_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = &analysis->graph->blocks[block];
	double sum = 0;

	for (uint32_t i = 0; i < at->count; i++)
		sum += analysis->frequencies.samples[at->first + i];
	return sum;
}

static double
cycles_of(const struct procedure_analysis *analysis, uint32_t block, double samples)
{
	const struct frequency *frequency = &analysis->frequencies.blocks[block];

	if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0)
		return -1;
	return samples / frequency->value;
}

double
procedure_block_cycles(const struct procedure_analysis *analysis, uint32_t block)
{
	return cycles_of(analysis, block, procedure_block_samples(analysis, block));
}

double
procedure_instruction_cycles(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction)
{
	return cycles_of(analysis, block, analysis->frequencies.samples[instruction]);
}

double
procedure_executions_per_frequency(const struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	struct weighted_value *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	double factor = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < graph->block_count && ratios && analysis->executions; i++) {
		const struct frequency *frequency = &analysis->frequencies.blocks[i];
		const double executions = (double)analysis->executions[graph->blocks[i].first];

		if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0)
			continue;
		ratios[count++] =
			(struct weighted_value){executions / frequency->value, procedure_block_samples(analysis, i)};
	}
	if (ratios)
		factor = statistics_weighted_median(ratios, count);
	free(ratios);
	return factor;
}

/* Frequencies. */

/* What the schedules say, by instruction of the procedure. */
struct schedule_minima {
	double *cycles;
	uint32_t *waits_for;
};

static int
minima_init(struct schedule_minima *minima, const struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	minima->cycles = calloc(graph->instruction_count + 1, sizeof(*minima->cycles));
	minima->waits_for = calloc(graph->instruction_count + 1, sizeof(*minima->waits_for));
	if (!minima->cycles || !minima->waits_for)
		return -ENOMEM;
	for (size_t i = 0; i < graph->instruction_count; i++)
		minima->waits_for[i] = FREQUENCY_NO_WAIT;
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];
		const struct schedule *schedule = &analysis->schedules[i];

		for (uint32_t k = 0; k < block->count; k++) {
			minima->cycles[block->first + k] = schedule->lines[k].minimum_cycles;
			if (schedule->lines[k].waits_for != SCHEDULE_NOTHING)
				minima->waits_for[block->first + k] = block->first + schedule->lines[k].waits_for;
		}
	}
	return 0;
}

static void
minima_fini(struct schedule_minima *minima)
{
	free(minima->cycles);
	free(minima->waits_for);
}

/* The samples of `instructions`, which are how often something ran; NULL when they were not taken. */
static const uint64_t *
retired_samples(const struct procedure_input *input, const struct procedure_analysis *analysis, double *period)
{
	for (size_t i = 0; i < input->selection->event_count; i++) {
		const struct selection_event *event = &input->selection->events[i];

		if (strcmp(event->name, "instructions") != 0 || !event->available)
			continue;
		*period = (double)event->period;
		return analysis->samples + i * analysis->graph->instruction_count;
	}
	return NULL;
}

/* Samples and counts of one run are of one set of executions: nothing has to be guessed. */
static int
estimate_exactly(const struct procedure_input *input, struct frequency_input *known,
                 struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	const bool is_absolute = input->exact->is_sampled_run && analysis->cycles_per_sample > 0;
	const bool is_relative = analysis->frequencies.is_relative && !is_absolute;
	int err;

	analysis->block_counts = calloc(graph->block_count + 1, sizeof(*analysis->block_counts));
	if (!analysis->block_counts)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++)
		analysis->block_counts[i] = analysis->executions[graph->blocks[i].first];
	known->executions_per_unit =
		is_absolute ? analysis->cycles_per_sample : procedure_executions_per_frequency(analysis);
	known->block_counts = analysis->block_counts;
	known->edge_counts = analysis->edge_counts;
	frequencies_fini(&analysis->frequencies);
	err = frequencies_estimate(known, &analysis->frequencies);
	analysis->frequencies.is_relative |= is_relative;
	return err;
}

/* Samples say what a count is worth in cycles; so they are estimated from first, also where there are exact counts. */
static int
add_frequencies(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	const struct selection_event *event = &input->selection->events[input->event];
	const bool in_order = input->pipeline->kind == PIPELINE_KIND_IN_ORDER;
	struct frequency_input known = {
		.graph = analysis->graph,
		.pipeline = input->pipeline->kind,
		.block_classes = analysis->classes.block_classes,
		.edge_classes = analysis->classes.edge_classes,
		.class_count = analysis->classes.class_count,
		.samples = analysis->samples + input->event * analysis->graph->instruction_count,
		.cycles_per_sample = analysis->cycles_per_sample,
		.skid = skid_of_selection(input->selection, event->name, input->pipeline).instructions,
		.width = in_order ? input->pipeline->issue_width : input->pipeline->retire_width,
	};
	struct procedure_path_counts branches = {0}, bursts = {0};
	struct schedule_minima minima = {0};
	int err;

	err = minima_init(&minima, analysis);
	if (err)
		goto out;
	err = procedure_path_counts_init(&branches, input, analysis->graph, input->branches);
	if (err)
		goto out;
	err = procedure_path_counts_init(&bursts, input, analysis->graph, input->bursts);
	if (err)
		goto out;
	known.branches = branches.edges;
	known.bursts = bursts.edges;
	known.minimum_cycles = minima.cycles;
	known.waits_for = minima.waits_for;
	if (!input->ignore_retired)
		known.retired = retired_samples(input, analysis, &known.instructions_per_sample);
	err = frequencies_estimate(&known, &analysis->frequencies);
	if (err)
		goto out;
	if (analysis->executions && !input->ignore_exact)
		err = estimate_exactly(input, &known, analysis);
out:
	procedure_path_counts_fini(&branches);
	procedure_path_counts_fini(&bursts);
	minima_fini(&minima);
	return err;
}

/* Relative frequencies have no scale of their own; but all together cannot have taken less than the best case. */
static void
scale_to_best_case(struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	struct frequencies *frequencies = &analysis->frequencies;
	double best = 0, actual = 0;

	if (!frequencies->is_relative)
		return;
	for (uint32_t i = 0; i < graph->block_count; i++) {
		if (frequencies->blocks[i].value <= 0)
			continue;
		best += frequencies->blocks[i].value * analysis->schedules[i].best_cycles;
		actual += procedure_block_samples(analysis, i);
	}
	if (best <= actual || actual <= 0)
		return;
	for (size_t i = 0; i < graph->block_count; i++)
		frequencies->blocks[i].value *= actual / best;
	for (size_t i = 0; i < graph->edge_count; i++)
		frequencies->edges[i].value *= actual / best;
}

/* Why instructions were late, with what was counted besides time. */

/* Samples lie on the instructions where the event happened, in all epochs that sampled it. */
static bool
is_exact(const struct procedure_input *input, const char *name)
{
	const struct skid skid = skid_of_selection(input->selection, name, input->pipeline);

	return skid.source <= SKID_PRECISE && skid.instructions == 0 && !skid.differs;
}

static void
set_events(const struct procedure_input *input, const struct procedure_analysis *analysis, struct stalls_input *stalls)
{
	for (size_t i = 0; i < input->selection->event_count; i++) {
		const struct selection_event *event = &input->selection->events[i];
		const enum stall_event which = stall_event_find(event->name);

		if (which == STALL_EVENT_COUNT || !event->available)
			continue;
		stalls->events[which] = (struct stall_event_samples){
			.samples = analysis->samples + i * analysis->graph->instruction_count,
			.period = (double)event->period,
			.is_exact = is_exact(input, event->name),
		};
	}
}

/* A running CPU makes at least so many cycles: they bound events where time is a clock's. */
static double
least_cycles_per_sample(const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	const struct selection_event *event = &input->selection->events[input->event];

	if (strcmp(event->unit, "ns") == 0)
		return LEAST_GIGAHERTZ * (double)event->period;
	return analysis->cycles_per_sample;
}

static int
find_detail(void *argument, const struct instruction *instruction, struct instruction_detail *detail)
{
	const struct code_image *code = argument;
	size_t size = 0;
	const uint8_t *bytes = image_contents_code(code->contents, instruction->address, &size);

	if (!bytes)
		return -ENOENT;
	return decoder_detail(procedures_decoder(code->procedures), bytes, size, instruction->address, detail);
}

static int
add_stalls(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	struct stalls_input stalls = {
		.graph = analysis->graph,
		.pipeline = input->pipeline,
		.schedules = analysis->schedules,
		.frequencies = &analysis->frequencies,
		.cycles_per_sample = least_cycles_per_sample(input, analysis),
		.detail = find_detail,
		.argument = (void *)input->code,
	};
	int err;

	set_events(input, analysis, &stalls);
	err = stalls_find(&stalls, &analysis->stalls);
	if (err)
		return err;
	stalls_sum(&stalls, &analysis->stalls, CONFIDENCE_MEDIUM, &analysis->summary);
	if (analysis->summary.actual < PROCEDURE_LEAST_SHARE * analysis->summary.all_samples)
		stalls_sum(&stalls, &analysis->stalls, CONFIDENCE_LOW, &analysis->summary);
	return 0;
}

static int
analyze(const struct procedure_input *input, struct procedure_analysis *analysis)
{
	const struct selection_event *event = &input->selection->events[input->event];
	int err;

	analysis->cycles_per_sample = strcmp(event->unit, "cycles") == 0 ? (double)event->period : 0;
	if (input->parts)
		err = procedures_graph_of(input->code->procedures, input->parts, input->part_count, &analysis->graph);
	else
		err = procedures_graph(input->code->procedures, input->symbol, &analysis->graph);
	if (err)
		return err;
	err = cycle_equivalence_find(analysis->graph, &analysis->classes);
	if (err)
		return err;
	err = add_samples(input, analysis);
	if (err)
		return err;
	err = add_executions(input, analysis);
	if (err || !input->pipeline)
		return err;
	err = add_schedules(input->pipeline, analysis);
	if (err)
		return err;
	err = add_frequencies(input, analysis);
	if (err)
		return err;
	scale_to_best_case(analysis);
	return add_stalls(input, analysis);
}

int
procedure_analyze(const struct procedure_input *input, struct procedure_analysis **analysis)
{
	struct procedure_analysis *made = calloc(1, sizeof(*made));
	int err;

	*analysis = NULL;
	if (!made)
		return -ENOMEM;
	err = analyze(input, made);
	if (err)
		procedure_analysis_free(made);
	else
		*analysis = made;
	return err;
}
