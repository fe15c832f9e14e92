/* What samples of events leave of the reasons. */
#include <math.h>
#include <string.h>

#include "analysis/stalls_private.h"

static const char *const event_names[STALL_EVENT_COUNT] = {
	[STALL_EVENT_CODE_CACHE] = "L1-icache-load-misses", [STALL_EVENT_CODE_TLB] = "iTLB-load-misses",
	[STALL_EVENT_DATA_CACHE] = "L1-dcache-load-misses", [STALL_EVENT_LAST_LEVEL] = "cache-misses",
	[STALL_EVENT_DATA_TLB] = "dTLB-load-misses",        [STALL_EVENT_MISPREDICT] = "branch-misses",
};

enum stall_event
stall_event_find(const char *name)
{
	unsigned event = 0;

	while (event < STALL_EVENT_COUNT && strcmp(event_names[event], name) != 0)
		event++;
	return event;
}

/* Those of a block that this search has not seen. */
static double
block_events(struct elimination *elimination, enum stall_event event, uint32_t block)
{
	const struct flow_block *at;
	double sum = 0;

	if (block == FLOW_OUTSIDE || elimination->seen[block] == elimination->search)
		return 0;
	elimination->seen[block] = elimination->search;
	at = &elimination->graph->blocks[block];
	for (uint32_t i = 0; i < at->count; i++)
		sum += (double)elimination->input->events[event].samples[at->first + i];
	return sum;
}

/* Events are sampled some instructions late: those of the block, of its neighbours and of the culprits' blocks. */
static double
near_events(struct elimination *elimination, enum stall_event event, uint32_t block, const struct suspect *suspect)
{
	const struct flow_graph *graph = elimination->graph;
	const struct flow_block *at = &graph->blocks[block];
	double sum;

	elimination->search++;
	sum = block_events(elimination, event, block);
	for (uint32_t i = 0; i < at->in_count; i++)
		sum += block_events(elimination, event, graph->edges[graph->ins[at->in + i]].from);
	for (uint32_t i = 0; i < at->out_count; i++)
		sum += block_events(elimination, event, graph->edges[graph->outs[at->out + i]].to);
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		sum += block_events(elimination, event,
		                    flow_graph_block_at(graph, graph->instructions[suspect->culprits[i]].address));
	return sum;
}

/* Cycles of an execution that so many events take at most; INFINITY when they were not counted. */
static double
event_bound(struct elimination *elimination, enum stall_event event, uint32_t block, const struct suspect *suspect,
            unsigned cycles)
{
	const struct stalls_input *input = elimination->input;
	const struct stall_event_samples *counted = &input->events[event];
	const double frequency = input->frequencies->blocks[block].value;
	double samples;

	if (!counted->samples || !(counted->period > 0) || !(input->cycles_per_sample > 0) || !(frequency > 0))
		return INFINITY;
	samples = near_events(elimination, event, block, suspect);
	samples += 2 * sqrt(samples) + 3; /* no more, in 19 of 20 cases */
	return samples * counted->period * cycles / input->cycles_per_sample / frequency;
}

static void
lower(struct suspect *suspect, double bound)
{
	if (suspect->is_possible && bound < suspect->bound)
		suspect->bound = bound;
}

/* Accesses that miss only the first level cost what the further ones do. */
static double
last_level_bound(struct elimination *elimination, uint32_t block, const struct suspect *suspect)
{
	const struct pipeline_memory *data = &elimination->pipeline->data;
	const unsigned near = data->level3_cycles ? data->level3_cycles : data->level2_cycles;
	const uint32_t accesses = suspect->culprit_count ? suspect->culprit_count : 1;

	return event_bound(elimination, STALL_EVENT_LAST_LEVEL, block, suspect, data->memory_cycles) +
	       (elimination->is_relative ? INFINITY : (double)accesses * near);
}

void
suspects_bound(struct elimination *elimination, uint32_t block, struct suspect suspects[CAUSE_COUNT])
{
	const struct pipeline *pipeline = elimination->pipeline;
	const struct {
		enum stall_cause cause;
		enum stall_event event;
		unsigned cycles;
	} bounds[] = {
		{CAUSE_CODE_CACHE, STALL_EVENT_CODE_CACHE, pipeline->code.memory_cycles},
		{CAUSE_CODE_TLB, STALL_EVENT_CODE_TLB, pipeline->code_tlb.miss_cycles},
		{CAUSE_DATA_CACHE, STALL_EVENT_DATA_CACHE, pipeline->data.memory_cycles},
		{CAUSE_DATA_TLB, STALL_EVENT_DATA_TLB, pipeline->data_tlb.miss_cycles},
		{CAUSE_MISPREDICT, STALL_EVENT_MISPREDICT, pipeline->mispredict_cycles},
	};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		struct suspect *suspect = &suspects[bounds[i].cause];

		lower(suspect, event_bound(elimination, bounds[i].event, block, suspect, bounds[i].cycles));
	}
	lower(&suspects[CAUSE_DATA_CACHE], last_level_bound(elimination, block, &suspects[CAUSE_DATA_CACHE]));
}
