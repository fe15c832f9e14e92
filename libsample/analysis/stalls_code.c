/*
 * Whether an instruction may have waited for its own bytes: what begins a line of the cache, or a page.
 *
 * Where code is larger than the cache no single instruction may have enough samples to say anything. All that have no
 * other reason do, together: if those that begin a line take no longer than those that do not, it is not for lines.
 */
#include <math.h>

#include "analysis/stalls_suspects.h"

#define FEW  10  /* samples: says nothing about one instruction */
#define MANY 30  /* of all of a kind: says something about them */
#define MOST 0.5 /* of its executions */

static uint64_t
unit_of(const struct instruction *instruction, unsigned bytes)
{
	return (instruction->address + (instruction->size ? instruction->size - 1U : 0)) / bytes;
}

/* The share of its executions that come to the instruction from another line, or page, of `bytes`. */
static double
first_touches(const struct place *place, unsigned bytes)
{
	const struct flow_graph *graph = place->elimination->graph;
	const struct flow_block *block = &graph->blocks[place->block];
	double share = 0;

	if (bytes == 0)
		return 0;
	if (place->index > 0)
		return unit_of(place->instruction, bytes) != unit_of(place->instruction - 1, bytes);
	for (uint32_t i = 0; i < block->in_count; i++) {
		const uint32_t edge = graph->ins[block->in + i], from = graph->edges[edge].from;
		const struct instruction *last;

		if (from != FLOW_OUTSIDE) {
			last = &graph->instructions[graph->blocks[from].first + graph->blocks[from].count - 1];
			if (!is_call_site(last) && unit_of(last, bytes) == unit_of(place->instruction, bytes))
				continue;
		}
		share += edge_share(place->elimination, edge, place->block);
	}
	return fmin(share, 1);
}

/* Samples and executions of instructions of one kind. */
struct kind {
	double samples, executions;
};

/*
 * The part of the time of `touching` instructions that the `others` do not take as well, at most: both counts may be
 * wrong by two standard deviations. 1 where too little is known.
 */
static double
excess(const struct kind *touching, const struct kind *others)
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
add_to_kind(const struct place *place, struct kind *kind)
{
	const struct frequencies *frequencies = place->elimination->input->frequencies;

	kind->samples += frequencies->samples[place->at];
	kind->executions += frequencies->blocks[place->block].value;
}

/* Lines that are touched most times are compared with the rest of the code, pages with other lines. */
static void
add_instruction(const struct place *place, struct kind *pages, struct kind *lines, struct kind *others)
{
	const struct pipeline *pipeline = place->elimination->pipeline;

	if (first_touches(place, pipeline->page_bytes) >= MOST)
		add_to_kind(place, pages);
	else if (first_touches(place, pipeline->cache_line) >= MOST)
		add_to_kind(place, lines);
	else if (first_touches(place, pipeline->cache_line) <= 0)
		add_to_kind(place, others);
}

static bool
has_other_reason(const struct suspect suspects[CAUSE_COUNT])
{
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && i != CAUSE_CODE_CACHE && i != CAUSE_CODE_TLB)
			return true;
	return false;
}

static void
add_block(struct elimination *elimination, uint32_t block, struct kind *pages, struct kind *lines, struct kind *others)
{
	const struct flow_block *at = &elimination->graph->blocks[block];

	for (uint32_t i = 0; i < at->count; i++) {
		struct suspect suspects[CAUSE_COUNT];
		const struct place place = {
			.elimination = elimination,
			.instruction = &elimination->graph->instructions[at->first + i],
			.block = block,
			.index = i,
			.at = at->first + i,
		};

		suspects_find(elimination, block, i, suspects);
		if (!has_other_reason(suspects))
			add_instruction(&place, pages, lines, others);
	}
}

void
compare_lines(struct elimination *elimination)
{
	struct kind pages = {0}, lines = {0}, others = {0}, all;

	elimination->line_share = elimination->page_share = 1;
	for (uint32_t i = 0; i < elimination->graph->block_count; i++)
		if (!elimination->fits_cache[i] && elimination->input->frequencies->blocks[i].value > 0)
			add_block(elimination, i, &pages, &lines, &others);
	all = (struct kind){lines.samples + pages.samples, lines.executions + pages.executions};
	elimination->line_share = excess(&all, &others);
	elimination->page_share = fmin(excess(&pages, &lines), elimination->line_share);
}

/* What an instruction with few samples may have waited for is what all those of its kind waited for. */
static void
suspect_touch(const struct place *place, enum stall_cause cause, double bound, double share)
{
	const struct elimination *elimination = place->elimination;

	if (elimination->input->frequencies->samples[place->at] < FEW && !has_other_reason(place->suspects)) {
		if (share <= 0)
			return;
		bound = fmin(bound, share * elimination->result->instructions[place->at].cycles);
	}
	suspect(place, cause, bound)->is_itself = true;
}

void
suspect_code(const struct place *place)
{
	const struct elimination *elimination = place->elimination;
	const struct pipeline *pipeline = elimination->pipeline;
	double share = first_touches(place, pipeline->cache_line);

	if (share > 0 && !elimination->fits_cache[place->block])
		suspect_touch(place, CAUSE_CODE_CACHE, model_cycles(place, share * pipeline->code.memory_cycles),
		              elimination->line_share);
	share = first_touches(place, pipeline->page_bytes);
	if (share > 0 && !elimination->fits_tlb[place->block])
		suspect_touch(place, CAUSE_CODE_TLB, model_cycles(place, share * pipeline->code_tlb.miss_cycles),
		              elimination->page_share);
}
