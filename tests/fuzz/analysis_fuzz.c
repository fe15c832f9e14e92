/*
 * Any bytes as a procedure's text, and any counts of it: the whole analysis ends, and what it says are numbers. The
 * first two bytes say which architecture, pipeline and counts; half of what follows is text, the rest counts, as many
 * as there are, from the beginning again when there are more instructions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/frequency.h"
#include "analysis/stalls.h"
#include "code/cycle_equivalence.h"
#include "code/flow_graph.h"

#define TEXT_ADDRESS    0x1000
#define SIZE_MAX_FUZZED 1024
#define MODELS          3

enum {
	FLAG_EXACT = 1,
	FLAG_EXACT_EDGES = 2,
	FLAG_BURSTS = 4,
	FLAG_BRANCHES = 8,
	FLAG_RETIRED = 16,
	FLAG_PERIOD = 32,
	FLAG_EVENTS = 64,
	FLAG_SCALE = 128,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_text {
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
};

/* The input's second half, as counts of any size. */
struct fuzzed_counts {
	const uint8_t *bytes;
	size_t size, next;
};

struct analysis {
	const struct flow_graph *graph;
	const struct pipeline *pipeline;
	struct cycle_equivalence classes;
	struct schedule *schedules;
	double *minimum_cycles;
	struct frequencies frequencies;
	uint8_t flags;
};

static void
require_at(bool condition, const char *text, int line)
{
	if (condition)
		return;
	fprintf(stderr, "analysis_fuzz: line %d: not so: %s\n", line, text);
	abort();
}
#define require(condition) require_at((condition), #condition, __LINE__)

static uint64_t
count_next(struct fuzzed_counts *counts)
{
	const uint8_t byte = counts->bytes[counts->next++ % counts->size];

	return byte < 64 ? byte : UINT64_C(1) << byte % 48;
}

static uint64_t *
counts_take(struct fuzzed_counts *counts, size_t count)
{
	uint64_t *taken = calloc(count + 1, sizeof(*taken));

	require(taken != NULL);
	for (size_t i = 0; i < count; i++)
		taken[i] = count_next(counts);
	return taken;
}

static const struct pipeline *
pipeline_of(unsigned number)
{
	static const char *const paths[MODELS] = {"./config/cpus/in-order-2.conf", "./config/cpus/amd-zen3.conf",
	                                          "./config/cpus/alpha-21164.conf"};
	static struct pipeline pipelines[MODELS];
	static bool is_loaded[MODELS];
	char note[512];

	if (!is_loaded[number] && pipeline_choose(".", paths[number], "", &pipelines[number], note, sizeof(note))) {
		fprintf(stderr, "analysis_fuzz: run it where config/cpus is: %s\n", note);
		abort();
	}
	is_loaded[number] = true;
	return &pipelines[number];
}

static void
schedule_all(struct analysis *analysis)
{
	const struct flow_graph *graph = analysis->graph;

	analysis->schedules = calloc(graph->block_count + 1, sizeof(*analysis->schedules));
	analysis->minimum_cycles = calloc(graph->instruction_count + 1, sizeof(double));
	require(analysis->schedules && analysis->minimum_cycles);
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		require(schedule_block(analysis->pipeline, graph->instructions + block->first, block->count, i % 2,
		                       NULL, NULL, &analysis->schedules[i]) == 0);
		for (uint32_t k = 0; k < block->count; k++)
			analysis->minimum_cycles[block->first + k] = analysis->schedules[i].lines[k].minimum_cycles;
	}
}

static void
look_at_frequencies(const struct analysis *analysis, const uint64_t *samples)
{
	const struct flow_graph *graph = analysis->graph;
	double before = 0, after = 0;

	for (size_t i = 0; i < graph->block_count; i++)
		require(isfinite(analysis->frequencies.blocks[i].value) && analysis->frequencies.blocks[i].value >= 0);
	for (size_t i = 0; i < graph->edge_count; i++)
		require(isfinite(analysis->frequencies.edges[i].value) && analysis->frequencies.edges[i].value >= 0);
	for (size_t i = 0; i < graph->instruction_count; i++) {
		require(isfinite(analysis->frequencies.samples[i]) && analysis->frequencies.samples[i] >= 0);
		before += (double)samples[i];
		after += analysis->frequencies.samples[i];
	}
	require(fabs(after - before) <= 1e-6 * before);
}

static int
estimate(struct analysis *analysis, struct fuzzed_counts *counts, const uint64_t *samples)
{
	const struct flow_graph *graph = analysis->graph;
	const uint8_t flags = analysis->flags;
	uint64_t *blocks = counts_take(counts, graph->block_count), *edges = counts_take(counts, graph->edge_count);
	uint64_t *retired = counts_take(counts, graph->instruction_count);
	const struct frequency_input input = {
		.graph = graph,
		.pipeline = analysis->pipeline->kind,
		.block_classes = analysis->classes.block_classes,
		.edge_classes = analysis->classes.edge_classes,
		.class_count = analysis->classes.class_count,
		.samples = samples,
		.cycles_per_sample = flags & FLAG_PERIOD ? 4000 : 0,
		.skid = analysis->pipeline->timer_skid,
		.minimum_cycles = analysis->minimum_cycles,
		.width = 4,
		.block_counts = flags & FLAG_EXACT ? blocks : NULL,
		.edge_counts = flags & FLAG_EXACT_EDGES ? edges : NULL,
		.executions_per_unit = flags & FLAG_SCALE ? 1000 : 0,
		.bursts = flags & FLAG_BURSTS ? edges : NULL,
		.branches = flags & FLAG_BRANCHES ? edges : NULL,
		.retired = flags & FLAG_RETIRED ? retired : NULL,
		.instructions_per_sample = flags & FLAG_PERIOD ? 10007 : 0,
	};
	int err = frequencies_estimate(&input, &analysis->frequencies);

	free(blocks);
	free(edges);
	free(retired);
	return err;
}

static int
find_detail(void *argument, const struct instruction *instruction, struct instruction_detail *detail)
{
	const struct fuzzed_text *text = argument;
	const size_t at = instruction->address - TEXT_ADDRESS;

	return decoder_detail(text->decoder, text->bytes + at, text->size - at, instruction->address, detail);
}

/* What is said of each instruction lies within its time; all shares add up to all. */
static void
find_stalls(const struct analysis *analysis, struct fuzzed_counts *counts, struct fuzzed_text *text)
{
	const size_t instructions = analysis->graph->instruction_count;
	uint64_t *missed = counts_take(counts, instructions);
	struct stalls_input input = {
		.graph = analysis->graph,
		.pipeline = analysis->pipeline,
		.schedules = analysis->schedules,
		.frequencies = &analysis->frequencies,
		.cycles_per_sample = analysis->flags & FLAG_PERIOD ? 4000 : 0,
		.detail = find_detail,
		.argument = text,
	};
	struct stall_summary summary;
	struct stall_shares shares;
	struct stalls stalls;

	for (unsigned event = 0; event < STALL_EVENT_COUNT && analysis->flags & FLAG_EVENTS; event++)
		input.events[event] = (struct stall_event_samples){.samples = missed, .period = 1000};
	require(stalls_find(&input, &stalls) == 0);
	for (size_t i = 0; i < instructions; i++)
		require(isfinite(stalls.instructions[i].cycles) && stalls.instructions[i].stall_cycles >= 0);
	for (size_t i = 0; i < stalls.stall_count; i++)
		require(stalls.stalls[i].low >= 0 && stalls.stalls[i].low <= stalls.stalls[i].high);
	stalls_sum(&input, &stalls, CONFIDENCE_LOW, &summary);
	require(isfinite(summary.actual) && isfinite(summary.best) && isfinite(summary.execution));
	stall_shares(&summary, &shares);
	require(shares.stall + shares.execution + shares.sampling_error == shares.tallied);
	stalls_fini(&stalls);
	free(missed);
}

static void
analyze(struct analysis *analysis, struct fuzzed_counts *counts, struct fuzzed_text *text)
{
	uint64_t *samples = counts_take(counts, analysis->graph->instruction_count);

	if (cycle_equivalence_find(analysis->graph, &analysis->classes) == 0) {
		schedule_all(analysis);
		if (estimate(analysis, counts, samples) == 0) {
			look_at_frequencies(analysis, samples);
			find_stalls(analysis, counts, text);
		}
		for (size_t i = 0; i < analysis->graph->block_count; i++)
			schedule_fini(&analysis->schedules[i]);
	}
	frequencies_fini(&analysis->frequencies);
	cycle_equivalence_fini(&analysis->classes);
	free(analysis->schedules);
	free(analysis->minimum_cycles);
	free(samples);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct decoder *decoders[ARCHITECTURE_COUNT];
	const size_t half = size / 2;
	struct code_part part = {.address = TEXT_ADDRESS, .bytes = data + 2, .size = half};
	struct flow_source source = {.parts = &part, .part_count = 1};
	struct fuzzed_counts counts = {.bytes = data + 2 + half, .size = size - 2 - half};
	struct analysis analysis = {0};
	struct flow_graph *graph;
	struct fuzzed_text text;

	if (half < 4 || size > SIZE_MAX_FUZZED)
		return 0;
	source.architecture = data[0] & 1 ? ARCHITECTURE_AARCH64 : ARCHITECTURE_X86_64;
	if (!decoders[source.architecture])
		decoders[source.architecture] = decoder_new(source.architecture);
	require(decoders[source.architecture] != NULL);
	text = (struct fuzzed_text){decoders[source.architecture], part.bytes, part.size};
	if (flow_graph_build(text.decoder, &source, &graph))
		return 0;
	analysis.graph = graph;
	analysis.pipeline = pipeline_of(data[0] / 2 % MODELS);
	analysis.flags = data[1];
	analyze(&analysis, &counts, &text);
	flow_graph_free(graph);
	return 0;
}
