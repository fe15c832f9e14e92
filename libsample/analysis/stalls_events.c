/* What samples of events leave of the reasons. */
#include <math.h>
#include <string.h>

#include "analysis/stalls_private.h"

static const char *const event_names[STALL_EVENT_COUNT] = {
	[STALL_EVENT_CODE_CACHE] = "L1-icache-load-misses", [STALL_EVENT_CODE_TLB] = "iTLB-load-misses",
	[STALL_EVENT_DATA_CACHE] = "L1-dcache-load-misses", [STALL_EVENT_LAST_LEVEL] = "cache-misses",
	[STALL_EVENT_CODE_WALK] = "iTLB-load-walks",        [STALL_EVENT_DATA_WALK] = "dTLB-load-walks",
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

/* How often a branch of block `from` led to `block`, as far as is known; at most, or as is likely. */
static double
times_of_way(const struct elimination *elimination, uint32_t from, uint32_t block, bool at_most)
{
	const struct frequencies *frequencies = elimination->input->frequencies;
	const struct flow_graph *graph = elimination->graph;

	for (uint32_t i = 0; i < graph->blocks[from].out_count; i++) {
		const uint32_t edge = graph->outs[graph->blocks[from].out + i];
		const struct frequency *way = &frequencies->edges[edge];

		if (graph->edges[edge].to != block)
			continue;
		if (at_most ? way->confidence >= CONFIDENCE_MEDIUM
		            : way->value > 0 || graph->edges[edge].kind != EDGE_TABLE)
			return way->value;
		return frequencies->blocks[block].value;
	}
	/* who came over a block between them waited there */
	return at_most ? frequencies->blocks[block].value : 0;
}

/* Mispredictions of a branch that led to `block`: no more than it came there, and for an indirect jump as many. */
static double
share_of_branch(const struct elimination *elimination, uint32_t branch, uint32_t block, bool at_most)
{
	const struct stalls_input *input = elimination->input;
	const struct stall_event_samples *counted = &input->events[STALL_EVENT_MISPREDICT];
	const struct flow_graph *graph = elimination->graph;
	const uint32_t from = flow_graph_block_at(graph, graph->instructions[branch].address);
	const double samples = (double)counted->samples[branch];
	double times, runs;

	if (from == FLOW_OUTSIDE)
		return samples;
	times = times_of_way(elimination, from, block, at_most);
	runs = input->frequencies->blocks[from].value;
	if (graph->instructions[branch].flow == FLOW_JUMP_INDIRECT)
		return runs > 0 ? fmin(times / runs, 1) * samples : samples;
	return fmin(samples, times * input->cycles_per_sample / counted->period);
}

/* Who runs more often made most of its events for others; what a call made of its own is not what it waits for. */
static double
share_of_load(const struct elimination *elimination, enum stall_event event, uint32_t culprit, uint32_t block)
{
	const struct flow_graph *graph = elimination->graph;
	const struct frequency *blocks = elimination->input->frequencies->blocks;
	const uint8_t flow = graph->instructions[culprit].flow;
	const double samples = (double)elimination->input->events[event].samples[culprit];
	const uint32_t from = flow_graph_block_at(graph, graph->instructions[culprit].address);

	if (flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT)
		return 0;
	if (from == FLOW_OUTSIDE || !(blocks[from].value > blocks[block].value))
		return samples;
	return samples * blocks[block].value / blocks[from].value;
}

/* Where they lie on the instruction that made them: at most so many of them, or as many as is likely. */
static double
exact_events(const struct elimination *elimination, enum stall_event event, uint32_t block, uint32_t at,
             const struct suspect *suspect, bool at_most)
{
	const uint64_t *samples = elimination->input->events[event].samples;
	bool is_seen = false;
	double sum = 0;

	for (uint32_t i = 0; i < suspect->culprit_count; i++) {
		const uint32_t culprit = suspect->culprits[i];

		if (event == STALL_EVENT_MISPREDICT)
			sum += share_of_branch(elimination, culprit, block, at_most);
		else
			sum += at_most ? (double)samples[culprit] : share_of_load(elimination, event, culprit, block);
		is_seen |= culprit == at;
	}
	if (!is_seen && (suspect->is_itself || suspect->culprit_count == 0))
		sum += (double)samples[at];
	return sum;
}

/* An instruction that is looked at. */
struct looked_at {
	struct elimination *elimination;
	uint32_t block, at;
};

/* Samples that may tell about the suspect, of culprits that are not known, too, if `all`; negative: there are none. */
static double
events_of(const struct looked_at *looked_at, enum stall_event event, const struct suspect *suspect, bool all)
{
	struct elimination *elimination = looked_at->elimination;
	const struct stalls_input *input = elimination->input;
	const struct stall_event_samples *counted = &input->events[event];

	if (!counted->samples || !(counted->period > 0) || !(input->cycles_per_sample > 0) ||
	    !(input->frequencies->blocks[looked_at->block].value > 0))
		return -1;
	if (counted->is_exact && !(all && suspect->is_open))
		return exact_events(elimination, event, looked_at->block, looked_at->at, suspect, all);
	return near_events(elimination, event, looked_at->block, suspect);
}

/* Cycles of an execution that so many samples stand for, if each event takes so long. */
static double
cycles_of(const struct looked_at *looked_at, enum stall_event event, double samples, double cycles)
{
	const struct stalls_input *input = looked_at->elimination->input;

	return samples * input->events[event].period * cycles / input->cycles_per_sample /
	       input->frequencies->blocks[looked_at->block].value;
}

/* At most; INFINITY when they were not counted, or lie exactly where nobody knows. */
static double
event_bound(const struct looked_at *looked_at, enum stall_event event, const struct suspect *suspect, unsigned cycles)
{
	const double samples = events_of(looked_at, event, suspect, true);

	if (samples < 0 || (suspect->is_open && looked_at->elimination->input->events[event].is_exact))
		return INFINITY;
	/* no more, in 19 of 20 cases */
	return cycles_of(looked_at, event, samples + 2 * sqrt(samples) + 3, cycles);
}

static void
lower(struct suspect *suspect, double bound)
{
	if (suspect->is_possible && bound < suspect->bound)
		suspect->bound = bound;
}

/* Add what the samples tell of to what is known; each event took so long. */
static void
tell(const struct looked_at *looked_at, enum stall_event event, unsigned cycles, struct suspect *suspect)
{
	const double samples = suspect->is_possible ? events_of(looked_at, event, suspect, false) : -1;

	if (samples >= 0)
		suspect->evidence = fmax(suspect->evidence, 0) + cycles_of(looked_at, event, samples, cycles);
}

/* Accesses that miss only the first level cost what the further ones do. */
static double
last_level_bound(const struct looked_at *looked_at, const struct suspect *suspect)
{
	const struct elimination *elimination = looked_at->elimination;
	const struct pipeline_memory *data = &elimination->pipeline->data;
	const unsigned near = data->level3_cycles ? data->level3_cycles : data->level2_cycles;
	const uint32_t accesses = suspect->culprit_count ? suspect->culprit_count : 1;

	return event_bound(looked_at, STALL_EVENT_LAST_LEVEL, suspect, data->memory_cycles) +
	       (elimination->is_relative ? INFINITY : (double)accesses * near);
}

/* Misses that the second level has cost little. */
static double
walk_bound(const struct looked_at *looked_at, enum stall_event walks, const struct pipeline_tlb *tlb,
           const struct suspect *suspect)
{
	const uint32_t accesses = (suspect->culprit_count ? suspect->culprit_count : 1) + 1; /* its own, too */

	if (!tlb->near_cycles || looked_at->elimination->is_relative)
		return INFINITY;
	return event_bound(looked_at, walks, suspect, tlb->miss_cycles) + (double)accesses * tlb->near_cycles;
}

static void
tell_tlb(const struct looked_at *looked_at, enum stall_event misses, enum stall_event walks,
         const struct pipeline_tlb *tlb, struct suspect *suspect)
{
	const bool knows_walks = tlb->near_cycles && looked_at->elimination->input->events[walks].samples;

	tell(looked_at, misses, knows_walks ? tlb->near_cycles : tlb->miss_cycles, suspect);
	if (knows_walks)
		tell(looked_at, walks, tlb->miss_cycles - tlb->near_cycles, suspect);
}

static void
tell_all(const struct looked_at *looked_at, struct suspect suspects[CAUSE_COUNT])
{
	const struct pipeline *pipeline = looked_at->elimination->pipeline;
	const unsigned near = pipeline->data.level2_cycles, far = pipeline->data.memory_cycles;

	tell(looked_at, STALL_EVENT_CODE_CACHE, pipeline->code.level2_cycles, &suspects[CAUSE_CODE_CACHE]);
	tell_tlb(looked_at, STALL_EVENT_CODE_TLB, STALL_EVENT_CODE_WALK, &pipeline->code_tlb,
	         &suspects[CAUSE_CODE_TLB]);
	tell(looked_at, STALL_EVENT_DATA_CACHE, near, &suspects[CAUSE_DATA_CACHE]);
	tell(looked_at, STALL_EVENT_LAST_LEVEL, far > near ? far - near : 0, &suspects[CAUSE_DATA_CACHE]);
	tell_tlb(looked_at, STALL_EVENT_DATA_TLB, STALL_EVENT_DATA_WALK, &pipeline->data_tlb,
	         &suspects[CAUSE_DATA_TLB]);
	tell(looked_at, STALL_EVENT_MISPREDICT, pipeline->mispredict_cycles, &suspects[CAUSE_MISPREDICT]);
}

void
suspects_bound(struct elimination *elimination, uint32_t block, uint32_t index, struct suspect suspects[CAUSE_COUNT])
{
	const struct looked_at looked_at = {elimination, block, elimination->graph->blocks[block].first + index};
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

		lower(suspect, event_bound(&looked_at, bounds[i].event, suspect, bounds[i].cycles));
	}
	lower(&suspects[CAUSE_DATA_CACHE], last_level_bound(&looked_at, &suspects[CAUSE_DATA_CACHE]));
	lower(&suspects[CAUSE_CODE_TLB],
	      walk_bound(&looked_at, STALL_EVENT_CODE_WALK, &pipeline->code_tlb, &suspects[CAUSE_CODE_TLB]));
	lower(&suspects[CAUSE_DATA_TLB],
	      walk_bound(&looked_at, STALL_EVENT_DATA_WALK, &pipeline->data_tlb, &suspects[CAUSE_DATA_TLB]));
	tell_all(&looked_at, suspects);
}
