/* What samples of events leave of the reasons. */
#include <math.h>
#include <string.h>

#include "analysis/stalls_internal.h"

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

/* Events of a block that this search has not counted. */
static double
block_events(struct stall_analysis *analysis, enum stall_event event, uint32_t block)
{
	const struct flow_block *at;
	double sum = 0;

	if (block == FLOW_OUTSIDE || analysis->seen[block] == analysis->search)
		return 0;
	analysis->seen[block] = analysis->search;
	at = &analysis->graph->blocks[block];
	for (uint32_t i = 0; i < at->count; i++)
		sum += (double)analysis->input->events[event].samples[at->first + i];
	return sum;
}

/* Events are sampled some instructions late: those of the block, of its neighbours and of the culprits' blocks. */
static double
near_events(struct stall_analysis *analysis, enum stall_event event, uint32_t block,
            const struct stall_suspect *suspect)
{
	const struct flow_graph *graph = analysis->graph;
	const struct flow_block *at = &graph->blocks[block];
	double sum;

	analysis->search++;
	sum = block_events(analysis, event, block);
	for (uint32_t i = 0; i < at->in_count; i++)
		sum += block_events(analysis, event, graph->edges[graph->ins[at->in + i]].from);
	for (uint32_t i = 0; i < at->out_count; i++)
		sum += block_events(analysis, event, graph->edges[graph->outs[at->out + i]].to);
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		sum += block_events(analysis, event,
		                    flow_graph_block_at(graph, graph->instructions[suspect->culprits[i]].address));
	return sum;
}

/* How often a branch of block `from` led to `block`, as far as is known; at most, or as is likely. */
static double
edge_executions(const struct stall_analysis *analysis, uint32_t from, uint32_t block, bool at_most)
{
	const struct frequencies *frequencies = analysis->input->frequencies;
	const struct flow_graph *graph = analysis->graph;

	for (uint32_t i = 0; i < graph->blocks[from].out_count; i++) {
		const uint32_t edge = graph->outs[graph->blocks[from].out + i];
		const struct frequency *frequency = &frequencies->edges[edge];

		if (graph->edges[edge].to != block)
			continue;
		if (at_most ? frequency->confidence >= CONFIDENCE_MEDIUM
		            : frequency->value > 0 || graph->edges[edge].kind != EDGE_TABLE)
			return frequency->value;
		return frequencies->blocks[block].value;
	}
	/* a path over a block between them waited there */
	return at_most ? frequencies->blocks[block].value : 0;
}

/* Mispredictions of a branch that led to `block`: no more than it came there, and for an indirect jump as many. */
static double
branch_share(const struct stall_analysis *analysis, uint32_t branch, uint32_t block, bool at_most)
{
	const struct stalls_input *input = analysis->input;
	const struct stall_event_samples *counted = &input->events[STALL_EVENT_MISPREDICT];
	const struct flow_graph *graph = analysis->graph;
	const uint32_t from = flow_graph_block_at(graph, graph->instructions[branch].address);
	const double samples = (double)counted->samples[branch];
	double times, runs;

	if (from == FLOW_OUTSIDE)
		return samples;
	times = edge_executions(analysis, from, block, at_most);
	runs = input->frequencies->blocks[from].value;
	if (graph->instructions[branch].flow == FLOW_JUMP_INDIRECT)
		return runs > 0 ? fmin(times / runs, 1) * samples : samples;
	return fmin(samples, times * input->cycles_per_sample / counted->period);
}

/* A culprit that runs more often made most of its events for others; a call does not wait for its own. */
static double
load_share(const struct stall_analysis *analysis, enum stall_event event, uint32_t culprit, uint32_t block)
{
	const struct flow_graph *graph = analysis->graph;
	const struct frequency *blocks = analysis->input->frequencies->blocks;
	const uint8_t flow = graph->instructions[culprit].flow;
	const double samples = (double)analysis->input->events[event].samples[culprit];
	const uint32_t from = flow_graph_block_at(graph, graph->instructions[culprit].address);

	if (flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT)
		return 0;
	if (from == FLOW_OUTSIDE || !(blocks[from].value > blocks[block].value))
		return samples;
	return samples * blocks[block].value / blocks[from].value;
}

/* Events that lie on the instruction that made them: at most so many of them, or as many as is likely. */
static double
exact_events(const struct stall_analysis *analysis, enum stall_event event, uint32_t block, uint32_t at,
             const struct stall_suspect *suspect, bool at_most)
{
	const uint64_t *samples = analysis->input->events[event].samples;
	bool is_seen = false;
	double sum = 0;

	for (uint32_t i = 0; i < suspect->culprit_count; i++) {
		const uint32_t culprit = suspect->culprits[i];

		if (event == STALL_EVENT_MISPREDICT)
			sum += branch_share(analysis, culprit, block, at_most);
		else
			sum += at_most ? (double)samples[culprit] : load_share(analysis, event, culprit, block);
		is_seen |= culprit == at;
	}
	if (!is_seen && (suspect->is_itself || suspect->culprit_count == 0))
		sum += (double)samples[at];
	return sum;
}

/* Samples of the suspect, of culprits that are not known, too, if `all`; negative: there are none. */
static double
events_of(const struct stall_site *site, enum stall_event event, const struct stall_suspect *suspect, bool all)
{
	struct stall_analysis *analysis = site->analysis;
	const struct stalls_input *input = analysis->input;
	const struct stall_event_samples *counted = &input->events[event];

	if (!counted->samples || !(counted->period > 0) || !(input->cycles_per_sample > 0) ||
	    !(input->frequencies->blocks[site->block].value > 0))
		return -1;
	if (counted->is_exact && !(all && suspect->is_open))
		return exact_events(analysis, event, site->block, site->at, suspect, all);
	return near_events(analysis, event, site->block, suspect);
}

/* Cycles of an execution that so many samples stand for, if each event takes so long. */
static double
cycles_of(const struct stall_site *site, enum stall_event event, double samples, double cycles)
{
	const struct stalls_input *input = site->analysis->input;

	return samples * input->events[event].period * cycles / input->cycles_per_sample /
	       input->frequencies->blocks[site->block].value;
}

/* At most; INFINITY when they were not counted, or are exact and culprits are not known. */
static double
event_bound(const struct stall_site *site, enum stall_event event, const struct stall_suspect *suspect, unsigned cycles)
{
	const double samples = events_of(site, event, suspect, true);

	if (samples < 0 || (suspect->is_open && site->analysis->input->events[event].is_exact))
		return INFINITY;
	/* no more, in 19 of 20 cases */
	return cycles_of(site, event, samples + 2 * sqrt(samples) + 3, cycles);
}

static void
lower(struct stall_suspect *suspect, double bound)
{
	if (suspect->is_possible && bound < suspect->bound)
		suspect->bound = bound;
}

/* Add the cycles that the samples account for, if each event took so long. */
static void
add_evidence(const struct stall_site *site, enum stall_event event, unsigned cycles, struct stall_suspect *suspect)
{
	const double samples = suspect->is_possible ? events_of(site, event, suspect, false) : -1;

	if (samples >= 0)
		suspect->evidence = fmax(suspect->evidence, 0) + cycles_of(site, event, samples, cycles);
}

/* Accesses that miss only the first level cost what the further ones do. */
static double
last_level_bound(const struct stall_site *site, const struct stall_suspect *suspect)
{
	const struct stall_analysis *analysis = site->analysis;
	const struct pipeline_memory *data = &analysis->pipeline->data;
	const unsigned near = data->level3_cycles ? data->level3_cycles : data->level2_cycles;
	const uint32_t accesses = suspect->culprit_count ? suspect->culprit_count : 1;

	return event_bound(site, STALL_EVENT_LAST_LEVEL, suspect, data->memory_cycles) +
	       (analysis->is_relative ? INFINITY : (double)accesses * near);
}

/* TLB misses that hit the second level cost little. */
static double
walk_bound(const struct stall_site *site, enum stall_event walks, const struct pipeline_tlb *tlb,
           const struct stall_suspect *suspect)
{
	const uint32_t accesses =
		(suspect->culprit_count ? suspect->culprit_count : 1) + 1; /* and the stalled instruction's own */

	if (!tlb->near_cycles || site->analysis->is_relative)
		return INFINITY;
	return event_bound(site, walks, suspect, tlb->miss_cycles) + (double)accesses * tlb->near_cycles;
}

static void
add_tlb_evidence(const struct stall_site *site, enum stall_event misses, enum stall_event walks,
                 const struct pipeline_tlb *tlb, struct stall_suspect *suspect)
{
	const bool knows_walks = tlb->near_cycles && site->analysis->input->events[walks].samples;

	add_evidence(site, misses, knows_walks ? tlb->near_cycles : tlb->miss_cycles, suspect);
	if (knows_walks)
		add_evidence(site, walks, tlb->miss_cycles - tlb->near_cycles, suspect);
}

static void
add_all_evidence(const struct stall_site *site, struct stall_suspect suspects[CAUSE_COUNT])
{
	const struct pipeline *pipeline = site->analysis->pipeline;
	const unsigned near = pipeline->data.level2_cycles, far = pipeline->data.memory_cycles;

	add_evidence(site, STALL_EVENT_CODE_CACHE, pipeline->code.level2_cycles, &suspects[CAUSE_CODE_CACHE]);
	add_tlb_evidence(site, STALL_EVENT_CODE_TLB, STALL_EVENT_CODE_WALK, &pipeline->code_tlb,
	                 &suspects[CAUSE_CODE_TLB]);
	add_evidence(site, STALL_EVENT_DATA_CACHE, near, &suspects[CAUSE_DATA_CACHE]);
	add_evidence(site, STALL_EVENT_LAST_LEVEL, far > near ? far - near : 0, &suspects[CAUSE_DATA_CACHE]);
	add_tlb_evidence(site, STALL_EVENT_DATA_TLB, STALL_EVENT_DATA_WALK, &pipeline->data_tlb,
	                 &suspects[CAUSE_DATA_TLB]);
	add_evidence(site, STALL_EVENT_MISPREDICT, pipeline->mispredict_cycles, &suspects[CAUSE_MISPREDICT]);
}

void
stall_suspects_bound(const struct stall_site *site)
{
	const struct pipeline *pipeline = site->analysis->pipeline;
	struct stall_suspect *suspects = site->suspects;
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
		struct stall_suspect *suspect = &suspects[bounds[i].cause];

		lower(suspect, event_bound(site, bounds[i].event, suspect, bounds[i].cycles));
	}
	lower(&suspects[CAUSE_DATA_CACHE], last_level_bound(site, &suspects[CAUSE_DATA_CACHE]));
	lower(&suspects[CAUSE_CODE_TLB],
	      walk_bound(site, STALL_EVENT_CODE_WALK, &pipeline->code_tlb, &suspects[CAUSE_CODE_TLB]));
	lower(&suspects[CAUSE_DATA_TLB],
	      walk_bound(site, STALL_EVENT_DATA_WALK, &pipeline->data_tlb, &suspects[CAUSE_DATA_TLB]));
	add_all_evidence(site, suspects);
}
