/* Every reason that an instruction may have to stall, but those that code, frequencies and samples of events rule out.
 */
#include <math.h>
#include <string.h>

#include "analysis/stalls_internal.h"

#define STALLS_STEPS_MAX  4096 /* instructions of one walk back: what is farther away is not found, and assumed */
#define LONG_LATENCY      2    /* cycles; a chain of such operations is slow */
#define NEGLIGIBLE_CYCLES 0.5  /* an execution: no reason for a stall */
#define SAMPLES_MIN       10   /* of a block that was certainly run */
#define BLOCKS_MAX        3    /* between a branch and the instruction that waits for it */
#define KNOWN_SHARE       0.5  /* of what a block runs: less is known to be wrong */
#define EDGES_MAX         32   /* into a block, that are followed further */
#define FEW               10   /* samples: says nothing about one instruction */
#define MANY              30   /* of all that are compared: says something about them */
#define MOST              0.5  /* of its executions */

/* The walk back over the flow graph, to what an instruction may wait for. */

struct back_search {
	struct stall_analysis *analysis;
	uint8_t reg;
	uint64_t classes;
	double cycles;    /* no farther */
	bool ends_at_use; /* a path ends where `reg` is read: a later reader found it there */
	uint32_t steps_left;
	uint32_t head, tail; /* of the queue */
	struct stall_walk *walk;
};

/* Which share of the block's executions comes over an edge: 0 to 1; 0 for a rare one. */
static double
stall_edge_share(const struct stall_analysis *analysis, uint32_t edge, uint32_t block)
{
	const struct frequency *taken = &analysis->input->frequencies->edges[edge];
	const struct frequency *whole = &analysis->input->frequencies->blocks[block];
	double share;

	if (taken->confidence == CONFIDENCE_NONE || whole->confidence == CONFIDENCE_NONE || !(whole->value > 0))
		return 1;
	share = taken->value / whole->value;
	if (!(share >= STALL_RARE_EDGE))
		return 0;
	return share < 1 ? share : 1;
}

static void
walk_add(struct stall_walk *walk, uint32_t instruction)
{
	for (uint32_t i = 0; i < walk->count; i++)
		if (walk->at[i] == instruction)
			return;
	if (walk->count == STALL_CULPRITS_MAX)
		walk->is_lost = true;
	else
		walk->at[walk->count++] = instruction;
}

static bool
is_target(const struct back_search *search, const struct instruction *instruction)
{
	if (instruction_is_call(instruction))
		return true;
	if (instruction->class < CLASS_COUNT && search->classes >> instruction->class & 1)
		return true;
	return search->reg != REGISTER_NONE && instruction_writes(instruction, search->reg);
}

/* Clearing a register by itself is no use of what it held. */
static bool
is_use(const struct instruction *instruction, uint8_t reg)
{
	return !instruction->clears && instruction_reads(instruction, reg);
}

/* Back from before instruction `index` of the block to its beginning; false when the search ends in it. */
static bool
scan_block(struct back_search *search, uint32_t block, uint32_t index, double *distance)
{
	const struct stall_analysis *analysis = search->analysis;
	const struct flow_block *at = &analysis->graph->blocks[block];

	while (index-- > 0) {
		const struct instruction *instruction = &analysis->graph->instructions[at->first + index];

		if (search->steps_left == 0) {
			search->walk->is_lost = true;
			return false;
		}
		search->steps_left--;
		search->walk->steps++;
		if (is_target(search, instruction)) {
			walk_add(search->walk, at->first + index);
			return false;
		}
		if (search->ends_at_use && is_use(instruction, search->reg))
			return false;
		*distance += analysis->input->schedules[block].lines[index].minimum_cycles;
		if (!(*distance < search->cycles))
			return false;
	}
	return true;
}

static void
enqueue_predecessors(struct back_search *search, uint32_t block, double distance)
{
	struct stall_analysis *analysis = search->analysis;
	const struct flow_block *at = &analysis->graph->blocks[block];

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = analysis->graph->ins[at->in + i];
		const uint32_t from = analysis->graph->edges[edge].from;

		if (stall_edge_share(analysis, edge, block) <= 0)
			continue;
		if (from == FLOW_OUTSIDE) {
			search->walk->from_caller = true;
			continue;
		}
		if (analysis->seen[from] == analysis->search)
			continue;
		analysis->seen[from] = analysis->search;
		analysis->queue[search->tail] = from;
		analysis->distances[search->tail++] = distance;
	}
}

static void
walk_graph(struct back_search *search, uint32_t block, uint32_t index, struct stall_walk *walk)
{
	struct stall_analysis *analysis = search->analysis;
	double distance = 0;

	*walk = (struct stall_walk){.count = 0};
	search->walk = walk;
	search->steps_left = STALLS_STEPS_MAX;
	analysis->search++;
	if (!scan_block(search, block, index, &distance))
		return;
	enqueue_predecessors(search, block, distance);
	while (search->head < search->tail) {
		const uint32_t next = analysis->queue[search->head];

		distance = analysis->distances[search->head++];
		if (scan_block(search, next, analysis->graph->blocks[next].count, &distance))
			enqueue_predecessors(search, next, distance);
	}
}

void
stall_walk_back(struct stall_analysis *analysis, uint32_t block, uint32_t index, uint8_t reg, uint64_t classes,
                double cycles, struct stall_walk *walk)
{
	struct back_search search = {.analysis = analysis, .reg = reg, .classes = classes, .cycles = cycles};

	walk_graph(&search, block, index, walk);
}

/* Suspect a reason of `bound` cycles, in addition to those of its cause that are suspected already. */
static struct stall_suspect *
add_reason(const struct stall_site *site, enum stall_cause cause, double bound)
{
	struct stall_suspect *suspect = &site->suspects[cause];

	if (!suspect->is_possible)
		*suspect = (struct stall_suspect){.is_possible = true, .bound = bound, .evidence = -1};
	else
		suspect->bound += bound;
	return suspect;
}

static void
add_culprit(struct stall_suspect *suspect, uint32_t instruction)
{
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		if (suspect->culprits[i] == instruction)
			return;
	if (suspect->culprit_count < STALL_CULPRITS_MAX)
		suspect->culprits[suspect->culprit_count++] = instruction;
}

/* The instruction may be to blame itself. It is listed as a culprit only out of order, where no other would be shown.
 */
static void
add_itself(const struct stall_site *site, struct stall_suspect *suspect)
{
	suspect->is_itself = true;
	if (!site->analysis->in_order)
		add_culprit(suspect, site->at);
}

/* Upper bound of `cycles` of the model, in cycles of the frequencies. */
static double
model_cycles(const struct stall_site *site, double cycles)
{
	const double *scale_max = site->analysis->scale_max;

	return scale_max && cycles > 0 ? cycles * scale_max[site->block] : cycles;
}

/* Data: whether an instruction may have waited for data, or for room for it. */

/* Whether the register comes from memory by this instruction. */
static bool
is_loaded_by(const struct instruction *instruction, uint8_t reg)
{
	for (unsigned i = 0; instruction->loads && i < instruction->write_count; i++)
		if (instruction->writes[i] == reg && !uops_is_written_back(instruction, i))
			return true;
	return false;
}

/* How many lines, or pages, of `bytes` an execution touches that the one before did not: at most one. */
static double
touched_anew(struct stall_analysis *analysis, uint32_t at, unsigned bytes)
{
	const struct flow_graph *graph = analysis->graph;
	uint32_t block;
	double stride;

	if (!analysis->asks_strides || bytes == 0)
		return 1;
	block = flow_graph_block_at(graph, graph->instructions[at].address);
	if (block == FLOW_OUTSIDE || !analysis->keeps_data[block] || !stall_find_stride(analysis, at, &stride))
		return 1;
	return fmin(fabs(stride) / bytes, 1);
}

static double
data_tlb_bound(const struct stall_site *site, uint32_t at)
{
	const struct pipeline *pipeline = site->analysis->pipeline;
	const double pages = touched_anew(site->analysis, at, pipeline->page_bytes);

	return model_cycles(site, pages * pipeline->data_tlb.miss_cycles);
}

/* A line that is touched again and again may be invalidated by other CPUs each time. */
static double
data_cache_bound(const struct stall_site *site, uint32_t at)
{
	const struct pipeline *pipeline = site->analysis->pipeline;
	const double lines = touched_anew(site->analysis, at, pipeline->cache_line);

	return lines > 0 && lines < 1 ? model_cycles(site, lines * pipeline->data.memory_cycles) : INFINITY;
}

static void
add_load_reasons(const struct stall_site *site, uint32_t at)
{
	const bool is_call = instruction_is_call(&site->analysis->graph->instructions[at]);
	struct stall_suspect *cache =
		add_reason(site, CAUSE_DATA_CACHE, is_call ? INFINITY : data_cache_bound(site, at));
	struct stall_suspect *tlb = add_reason(site, CAUSE_DATA_TLB, is_call ? INFINITY : data_tlb_bound(site, at));

	add_culprit(cache, at);
	add_culprit(tlb, at);
	cache->is_open |= is_call;
	tlb->is_open |= is_call;
}

/* In order: a register that a load writes, or may, which is read or overwritten. */
static void
add_register_reasons(const struct stall_site *site, uint8_t reg, bool is_read)
{
	const struct stall_analysis *analysis = site->analysis;
	const struct pipeline *pipeline = analysis->pipeline;
	struct back_search search = {
		.analysis = site->analysis,
		.reg = reg,
		.cycles = pipeline->data.memory_cycles + pipeline->data_tlb.miss_cycles,
		.ends_at_use = true,
	};
	struct stall_walk walk;

	walk_graph(&search, site->block, site->index, &walk);
	if (is_read && (walk.from_caller || walk.is_lost)) {
		add_reason(site, CAUSE_DATA_CACHE, INFINITY)->is_open = true;
		add_reason(site, CAUSE_DATA_TLB, INFINITY)->is_open = true;
	}
	for (uint32_t k = 0; k < walk.count; k++) {
		const struct instruction *maker = &analysis->graph->instructions[walk.at[k]];

		if ((is_read && instruction_is_call(maker)) || is_loaded_by(maker, reg))
			add_load_reasons(site, walk.at[k]);
	}
}

/* Write after write: a result waits for an older load to its register, too. */
static void
add_operand_reasons(const struct stall_site *site)
{
	const struct instruction *instruction = site->instruction;

	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++)
		add_register_reasons(site, instruction->reads[i], true);
	for (unsigned i = 0; i < instruction->write_count; i++)
		if (!is_use(instruction, instruction->writes[i]))
			add_register_reasons(site, instruction->writes[i], false);
}

static void
add_data_reasons(const struct stall_site *site)
{
	const struct stall_analysis *analysis = site->analysis;
	const struct instruction *instruction = site->instruction;

	if (instruction->loads || instruction->stores)
		add_itself(site, add_reason(site, CAUSE_DATA_TLB, data_tlb_bound(site, site->at)));
	if (analysis->in_order)
		add_operand_reasons(site);
	else if (instruction->loads)
		add_itself(site, add_reason(site, CAUSE_DATA_CACHE, data_cache_bound(site, site->at)));
	if (instruction->stores && instruction->class != CLASS_ATOMIC) /* whose wait for stores is synchronization */
		add_itself(site, add_reason(site, CAUSE_WRITE_BUFFER, INFINITY));
}

/* Branches: whether a block's head may have waited for a misprediction. */

/* A fit may give frequency 0 to a block with samples: it ran, but how often is not known. */
static bool
is_run_unknown(const struct stall_analysis *analysis, uint32_t block)
{
	const struct frequencies *frequencies = analysis->input->frequencies;
	const struct flow_block *at;
	double samples = 0;

	if (block == FLOW_OUTSIDE || frequencies->blocks[block].value > 0)
		return false;
	at = &analysis->graph->blocks[block];
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		samples += frequencies->samples[i];
	return samples >= SAMPLES_MIN;
}

/*
 * How often, of the executions of the block it comes from, an edge is taken against the prediction. An out-of-order
 * core predicts a branch that nearly always goes one way at least that well; the paper's older core does not.
 */
static double
wrong_share(const struct stall_analysis *analysis, uint32_t edge)
{
	const struct flow_graph *graph = analysis->graph;
	const struct frequency *frequencies = analysis->input->frequencies->edges;
	const struct flow_block *from = &graph->blocks[graph->edges[edge].from];
	double others = 0;

	if (analysis->in_order || frequencies[edge].confidence == CONFIDENCE_NONE || !(frequencies[edge].value > 0))
		return 1;
	for (uint32_t i = 0; i < from->out_count; i++) {
		const uint32_t other = graph->outs[from->out + i];

		if (other == edge)
			continue;
		if (is_run_unknown(analysis, graph->edges[other].to))
			return 1;
		others += frequencies[other].value;
	}
	return fmin(1, 2 * others / frequencies[edge].value);
}

/*
 * Frequencies of edges may be wrong where there are many. Where mispredictions were sampled exactly, only those that
 * are well known rule others out.
 */
static bool
edges_are_known(const struct stall_analysis *analysis, uint32_t block)
{
	const struct flow_block *at = &analysis->graph->blocks[block];
	double sum = 0;

	if (!analysis->input->events[STALL_EVENT_MISPREDICT].is_exact)
		return true;
	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = analysis->graph->ins[at->in + i];

		if (analysis->input->frequencies->edges[edge].confidence >= CONFIDENCE_MEDIUM)
			sum += stall_edge_share(analysis, edge, block);
	}
	return sum >= KNOWN_SHARE;
}

/* Edges from a branch that lead to `block`, directly or, in order, over blocks that are done within the penalty. */
static void
add_edge_reasons(const struct stall_site *site, uint32_t block, double share, double cycles, unsigned depth)
{
	const struct stall_analysis *analysis = site->analysis;
	const struct flow_graph *graph = analysis->graph;
	const struct flow_block *at = &graph->blocks[block];
	const bool are_known = edges_are_known(analysis, block);

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = graph->ins[at->in + i], from = graph->edges[edge].from;
		const double here = are_known ? share * stall_edge_share(analysis, edge, block) : share;
		const double best = from == FLOW_OUTSIDE ? 0 : analysis->input->schedules[from].best_cycles;
		uint32_t last;

		if (here < STALL_RARE_EDGE)
			continue;
		if (from == FLOW_OUTSIDE) { /* called through a pointer, perhaps */
			add_reason(site, CAUSE_MISPREDICT, model_cycles(site, here * cycles))->is_open = true;
			continue;
		}
		last = graph->blocks[from].first + graph->blocks[from].count - 1;
		if (graph->instructions[last].flow == FLOW_BRANCH ||
		    graph->instructions[last].flow == FLOW_JUMP_INDIRECT) {
			const double wrong = here * wrong_share(analysis, edge);

			if (wrong * cycles >= NEGLIGIBLE_CYCLES)
				add_culprit(add_reason(site, CAUSE_MISPREDICT, model_cycles(site, wrong * cycles)),
				            last);
		} else if (depth > 0 && at->in_count <= EDGES_MAX && best < cycles &&
		           !instruction_is_call(&graph->instructions[last])) {
			add_edge_reasons(site, from, here, cycles - best, depth - 1);
		}
	}
}

static void
add_branch_reasons(const struct stall_site *site)
{
	const struct stall_analysis *analysis = site->analysis;

	if (site->index == 0)
		add_edge_reasons(site, site->block, 1, analysis->pipeline->mispredict_cycles,
		                 analysis->in_order ? BLOCKS_MAX : 0);
}

/* Units: whether an instruction may have waited for the multiplier or the divider. */

#define CLASS_BIT(class) (UINT64_C(1) << (class))
#define MULTIPLIERS      (CLASS_BIT(CLASS_MULTIPLY) | CLASS_BIT(CLASS_VECTOR_MULTIPLY))
#define DIVIDERS         (CLASS_BIT(CLASS_DIVIDE) | CLASS_BIT(CLASS_FLOAT_DIVIDE) | CLASS_BIT(CLASS_FLOAT_ROOT))

bool
stall_is_multiplier(unsigned class)
{
	return class < CLASS_COUNT && MULTIPLIERS >> class & 1;
}

bool
stall_is_divider(unsigned class)
{
	return class < CLASS_COUNT && DIVIDERS >> class & 1;
}

/* In order: it needs a unit that an earlier instruction occupies, or the result of that instruction. */
static void
add_unit_reason(const struct stall_site *site, enum stall_cause cause, uint64_t classes, unsigned of)
{
	const struct pipeline_operation *operation = &site->analysis->pipeline->operations[of];
	const struct instruction *instruction = site->instruction;
	double cycles = operation->latency;
	struct stall_walk walk;

	for (unsigned i = 0; i < operation->use_count; i++)
		cycles = fmax(cycles, operation->uses[i].cycles);
	if (cycles <= 1)
		return;
	if (instruction->class < CLASS_COUNT && classes >> instruction->class & 1) {
		stall_walk_back(site->analysis, site->block, site->index, REGISTER_NONE, classes & CLASS_BIT(of),
		                cycles, &walk);
		for (uint32_t i = 0; i < walk.count; i++)
			if (!instruction_is_call(&site->analysis->graph->instructions[walk.at[i]]))
				add_culprit(add_reason(site, cause, model_cycles(site, cycles)), walk.at[i]);
	}
	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		stall_walk_back(site->analysis, site->block, site->index, instruction->reads[i], 0, cycles, &walk);
		for (uint32_t k = 0; k < walk.count; k++)
			if (site->analysis->graph->instructions[walk.at[k]].class == of)
				add_culprit(add_reason(site, cause, model_cycles(site, cycles)), walk.at[k]);
	}
}

static void
add_unit_reasons(const struct stall_site *site)
{
	if (!site->analysis->in_order) {
		if (stall_is_multiplier(site->instruction->class))
			add_culprit(add_reason(site, CAUSE_MULTIPLIER, INFINITY), site->at);
		if (stall_is_divider(site->instruction->class))
			add_culprit(add_reason(site, CAUSE_DIVIDER, INFINITY), site->at);
		return;
	}
	for (unsigned class = 0; class < CLASS_COUNT; class ++) {
		if (stall_is_multiplier(class))
			add_unit_reason(site, CAUSE_MULTIPLIER, MULTIPLIERS, class);
		if (stall_is_divider(class))
			add_unit_reason(site, CAUSE_DIVIDER, DIVIDERS, class);
	}
}

static void
add_synchronization_reason(const struct stall_site *site)
{
	const unsigned class = site->instruction->class;

	if (class == CLASS_ATOMIC || class == CLASS_BARRIER)
		add_itself(site, add_reason(site, CAUSE_SYNCHRONIZATION, INFINITY));
	else if (site->index > 0 && site->instruction[-1].class == CLASS_BARRIER)
		add_culprit(add_reason(site, CAUSE_SYNCHRONIZATION, INFINITY), site->at - 1);
}

static void
add_other_reasons(const struct stall_site *site)
{
	const struct instruction *instruction = site->instruction;
	const struct stall_analysis *analysis = site->analysis;
	const struct pipeline_operation *operation = pipeline_operation(analysis->pipeline, instruction);
	const unsigned class = instruction->class;

	if (class == CLASS_STRING || class == CLASS_SYSTEM || class == CLASS_UNKNOWN)
		add_itself(site, add_reason(site, CAUSE_OTHER, INFINITY));
	else if (!analysis->in_order && operation->latency >= LONG_LATENCY && !instruction->loads &&
	         !instruction->stores && !stall_is_multiplier(class) && !stall_is_divider(class))
		add_itself(site, add_reason(site, CAUSE_OTHER, model_cycles(site, operation->latency)));
}

/* Code: whether an instruction may have waited for its own bytes, because it begins a line of the cache, or a page. */

static uint64_t
line_of(const struct instruction *instruction, unsigned bytes)
{
	return (instruction->address + (instruction->size ? instruction->size - 1U : 0)) / bytes;
}

/* The share of its executions that come to the instruction from another line, or page, of `bytes`. */
static double
new_line_share(const struct stall_site *site, unsigned bytes)
{
	const struct flow_graph *graph = site->analysis->graph;
	const struct flow_block *block = &graph->blocks[site->block];
	double share = 0;

	if (bytes == 0)
		return 0;
	if (site->index > 0)
		return line_of(site->instruction, bytes) != line_of(site->instruction - 1, bytes);
	for (uint32_t i = 0; i < block->in_count; i++) {
		const uint32_t edge = graph->ins[block->in + i], from = graph->edges[edge].from;
		const struct instruction *last;

		if (from != FLOW_OUTSIDE) {
			last = &graph->instructions[graph->blocks[from].first + graph->blocks[from].count - 1];
			if (!instruction_is_call(last) && line_of(last, bytes) == line_of(site->instruction, bytes))
				continue;
		}
		share += stall_edge_share(site->analysis, edge, site->block);
	}
	return fmin(share, 1);
}

static bool
has_other_reason(const struct stall_suspect suspects[CAUSE_COUNT])
{
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && i != CAUSE_CODE_CACHE && i != CAUSE_CODE_TLB)
			return true;
	return false;
}

/* With few samples, an instruction waited for its line at most the share that all such instructions together did. */
static void
add_touch_reason(const struct stall_site *site, enum stall_cause cause, double bound, double share)
{
	const struct stall_analysis *analysis = site->analysis;

	if (analysis->input->frequencies->samples[site->at] < FEW && !has_other_reason(site->suspects)) {
		if (share <= 0)
			return;
		bound = fmin(bound, share * analysis->result->instructions[site->at].cycles);
	}
	add_reason(site, cause, bound)->is_itself = true;
}

static void
add_code_reasons(const struct stall_site *site)
{
	const struct stall_analysis *analysis = site->analysis;
	const struct pipeline *pipeline = analysis->pipeline;
	double share = new_line_share(site, pipeline->cache_line);

	if (share > 0 && !analysis->fits_cache[site->block])
		add_touch_reason(site, CAUSE_CODE_CACHE, model_cycles(site, share * pipeline->code.memory_cycles),
		                 analysis->line_share);
	share = new_line_share(site, pipeline->page_bytes);
	if (share > 0 && !analysis->fits_tlb[site->block])
		add_touch_reason(site, CAUSE_CODE_TLB, model_cycles(site, share * pipeline->code_tlb.miss_cycles),
		                 analysis->page_share);
}

struct stall_site
stall_suspects_find(struct stall_analysis *analysis, uint32_t block, uint32_t index,
                    struct stall_suspect suspects[CAUSE_COUNT])
{
	const uint32_t at = analysis->graph->blocks[block].first + index;
	const struct stall_site site = {
		.analysis = analysis,
		.instruction = &analysis->graph->instructions[at],
		.block = block,
		.index = index,
		.at = at,
		.suspects = suspects,
	};

	memset(suspects, 0, CAUSE_COUNT * sizeof(*suspects));
	add_data_reasons(&site);
	add_synchronization_reason(&site);
	add_branch_reasons(&site);
	add_unit_reasons(&site);
	add_other_reasons(&site);
	add_code_reasons(&site); /* last: it asks whether there are others */
	return site;
}

/*
 * Where code is larger than the cache no single instruction may have enough samples to say anything. All that have no
 * other reason do, together: if those that begin a line take no longer than those that do not, lines cost nothing.
 */

/* Samples and executions of instructions of one kind. */
struct touch_count {
	double samples, executions;
};

/*
 * The part of the time of `touching` instructions that the `others` do not take as well, at most: both counts may be
 * wrong by two standard deviations. 1 where too little is known.
 */
static double
excess(const struct touch_count *touching, const struct touch_count *others)
{
	const double most = touching->samples + 2 * sqrt(touching->samples) + 3;
	const double least = fmax(others->samples - 2 * sqrt(others->samples), 0);
	double share;

	if (!(touching->executions > 0) || !(others->executions > 0) || touching->samples + others->samples < MANY)
		return 1;
	share = 1 - least / others->executions / (most / touching->executions);
	return isfinite(share) ? fmax(share, 0) : 1;
}

static void
count_touch(const struct stall_site *site, struct touch_count *kind)
{
	const struct frequencies *frequencies = site->analysis->input->frequencies;

	kind->samples += frequencies->samples[site->at];
	kind->executions += frequencies->blocks[site->block].value;
}

/* Lines that are touched most times are compared with the rest of the code, pages with other lines. */
static void
count_instruction(const struct stall_site *site, struct touch_count *pages, struct touch_count *lines,
                  struct touch_count *others)
{
	const struct pipeline *pipeline = site->analysis->pipeline;

	if (new_line_share(site, pipeline->page_bytes) >= MOST)
		count_touch(site, pages);
	else if (new_line_share(site, pipeline->cache_line) >= MOST)
		count_touch(site, lines);
	else if (new_line_share(site, pipeline->cache_line) <= 0)
		count_touch(site, others);
}

static void
count_block(struct stall_analysis *analysis, uint32_t block, struct touch_count *pages, struct touch_count *lines,
            struct touch_count *others)
{
	for (uint32_t i = 0; i < analysis->graph->blocks[block].count; i++) {
		struct stall_suspect suspects[CAUSE_COUNT];
		const struct stall_site site = stall_suspects_find(analysis, block, i, suspects);

		if (!has_other_reason(suspects))
			count_instruction(&site, pages, lines, others);
	}
}

void
stall_compare_lines(struct stall_analysis *analysis)
{
	struct touch_count pages = {0}, lines = {0}, others = {0}, all;

	analysis->line_share = analysis->page_share = 1;
	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		if (!analysis->fits_cache[i] && analysis->input->frequencies->blocks[i].value > 0)
			count_block(analysis, i, &pages, &lines, &others);
	all = (struct touch_count){lines.samples + pages.samples, lines.executions + pages.executions};
	analysis->line_share = excess(&all, &others);
	analysis->page_share = fmin(excess(&pages, &lines), analysis->line_share);
}

/* What samples of events leave of the reasons. */

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
	const double samples = (double)analysis->input->events[event].samples[culprit];
	const uint32_t from = flow_graph_block_at(graph, graph->instructions[culprit].address);

	if (instruction_is_call(&graph->instructions[culprit]))
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
