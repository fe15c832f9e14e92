#include "analysis/procedure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_parts.h"
#include "analysis/skid.h"
#include "analysis/weighted_median.h"

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
	equivalence_fini(&analysis->classes);
	free(analysis->samples);
	free(analysis->taken);
	free(analysis->squares);
	free(analysis->executions);
	free(analysis->edge_counts);
	free(analysis->block_counts);
	flow_graph_free(analysis->graph);
	free(analysis);
}

/* What the schedules say, by instruction of the procedure. */
struct minima {
	double *cycles;
	uint32_t *waits_for;
};

static int
minima_init(struct minima *minima, const struct procedure_analysis *analysis)
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
minima_fini(struct minima *minima)
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

/* Exact counts of blocks: of the first instruction of each. */
static int
block_counts(const struct procedure_analysis *analysis, uint64_t **counts)
{
	const struct flow_graph *graph = analysis->graph;

	*counts = NULL;
	if (!analysis->executions)
		return 0;
	*counts = calloc(graph->block_count + 1, sizeof(**counts));
	if (!*counts)
		return -ENOMEM;
	for (size_t i = 0; i < graph->block_count; i++)
		(*counts)[i] = analysis->executions[graph->blocks[i].first];
	return 0;
}

double
executions_per_frequency(const struct procedure_analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;
	struct weighted *ratios = calloc(graph->block_count + 1, sizeof(*ratios));
	double factor = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < graph->block_count && ratios && analysis->executions; i++) {
		const struct frequency *frequency = &analysis->frequencies.blocks[i];
		const double executions = (double)analysis->executions[graph->blocks[i].first];

		if (frequency->confidence == CONFIDENCE_NONE || frequency->value <= 0)
			continue;
		ratios[count++] = (struct weighted){executions / frequency->value, block_samples(analysis, i)};
	}
	if (ratios)
		factor = weighted_median(ratios, count);
	free(ratios);
	return factor;
}

/* All that was recorded; its users leave out what is not there. */
struct recordings {
	struct path_counts branches, bursts;
	struct frequency_paths branch_paths, burst_paths;
};

static int
recordings_init(struct recordings *recordings, const struct procedure_input *input, const struct flow_graph *graph)
{
	int err;

	err = path_counts_init(&recordings->branches, input, graph, input->branches);
	if (!err)
		err = path_counts_init(&recordings->bursts, input, graph, input->bursts);
	recordings->branch_paths.edges = recordings->branches.edges;
	recordings->burst_paths = (struct frequency_paths){recordings->bursts.edges};
	return err;
}

static void
recordings_fini(struct recordings *recordings)
{
	path_counts_fini(&recordings->branches);
	path_counts_fini(&recordings->bursts);
}

/* In one run, samples and counts are of the same executions: nothing has to be guessed. */
static int
estimate_exactly(const struct procedure_input *input, struct frequency_input *known,
                 struct procedure_analysis *analysis)
{
	const bool is_absolute = input->exact->is_sampled_run && analysis->cycles_per_sample > 0;
	const bool is_relative = analysis->frequencies.is_relative && !is_absolute;
	int err;

	err = block_counts(analysis, &analysis->block_counts);
	if (err)
		return err;
	known->executions_per_unit = is_absolute ? analysis->cycles_per_sample : executions_per_frequency(analysis);
	known->block_counts = analysis->block_counts;
	known->edge_counts = analysis->edge_counts;
	frequencies_fini(&analysis->frequencies);
	err = frequencies_estimate(known, &analysis->frequencies);
	analysis->frequencies.is_relative |= is_relative;
	return err;
}

/* Samples say what a count is worth in cycles; so they are asked first, also where there are exact counts. */
static int
estimate(const struct procedure_input *input, struct procedure_analysis *analysis)
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
	struct recordings recordings = {0};
	struct minima minima = {0};
	int err;

	err = minima_init(&minima, analysis);
	if (!err)
		err = recordings_init(&recordings, input, analysis->graph);
	known.branches = recordings.branches.edges ? &recordings.branch_paths : NULL;
	known.bursts = recordings.bursts.edges ? &recordings.burst_paths : NULL;
	known.minimum_cycles = minima.cycles;
	known.waits_for = minima.waits_for;
	if (!input->ignore_retired)
		known.retired = retired_samples(input, analysis, &known.instructions_per_sample);
	if (!err)
		err = frequencies_estimate(&known, &analysis->frequencies);
	if (!err && analysis->executions && !input->ignore_exact)
		err = estimate_exactly(input, &known, analysis);
	recordings_fini(&recordings);
	minima_fini(&minima);
	return err;
}

/* What is relative has no scale of its own; but nothing can have taken less than its best case, all in all. */
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
		actual += block_samples(analysis, i);
	}
	if (best <= actual || actual <= 0)
		return;
	for (size_t i = 0; i < graph->block_count; i++)
		frequencies->blocks[i].value *= actual / best;
	for (size_t i = 0; i < graph->edge_count; i++)
		frequencies->edges[i].value *= actual / best;
}

static double
cycles_per_sample(const struct selection_event *event)
{
	return strcmp(event->unit, "cycles") == 0 ? (double)event->period : 0;
}

int
procedure_analyze(const struct procedure_input *input, struct procedure_analysis **analysis)
{
	struct procedure_analysis *made = calloc(1, sizeof(*made));
	int err;

	*analysis = NULL;
	if (!made)
		return -ENOMEM;
	made->cycles_per_sample = cycles_per_sample(&input->selection->events[input->event]);
	if (input->parts)
		err = procedures_graph_of(input->code->procedures, input->parts, input->part_count, &made->graph);
	else
		err = procedures_graph(input->code->procedures, input->symbol, &made->graph);
	if (!err)
		err = equivalence_find(made->graph, &made->classes);
	if (!err)
		err = procedure_samples(input, made);
	if (!err)
		err = procedure_executions(input, made);
	if (!err && input->pipeline)
		err = procedure_schedules(input->pipeline, made);
	if (!err && input->pipeline)
		err = estimate(input, made);
	if (!err && input->pipeline)
		scale_to_best_case(made);
	if (!err && input->pipeline)
		err = procedure_stalls(input, made);
	if (err) {
		procedure_analysis_free(made);
		return err;
	}
	*analysis = made;
	return 0;
}

double
block_samples(const struct procedure_analysis *analysis, uint32_t block)
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
block_cycles(const struct procedure_analysis *analysis, uint32_t block)
{
	return cycles_of(analysis, block, block_samples(analysis, block));
}

double
instruction_cycles(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction)
{
	return cycles_of(analysis, block, analysis->frequencies.samples[instruction]);
}
