/* Whether an instruction may have waited for data, or for room for it. */
#include <math.h>

#include "analysis/stalls_suspects.h"
#include "code/schedule_parts.h"

/* Whether the register comes from memory by this instruction. */
static bool
is_loaded_by(const struct instruction *instruction, uint8_t reg)
{
	for (unsigned i = 0; instruction->loads && i < instruction->write_count; i++)
		if (instruction->writes[i] == reg && !is_written_back(instruction, i))
			return true;
	return false;
}

/* How many lines, or pages, of `bytes` an execution touches that the one before did not: at most one. */
static double
touched_anew(struct elimination *elimination, uint32_t at, unsigned bytes)
{
	const struct flow_graph *graph = elimination->graph;
	uint32_t block;
	double stride;

	if (!elimination->asks_strides || bytes == 0)
		return 1;
	block = flow_graph_block_at(graph, graph->instructions[at].address);
	if (block == FLOW_OUTSIDE || !elimination->keeps_data[block] || !find_stride(elimination, at, &stride))
		return 1;
	return fmin(fabs(stride) / bytes, 1);
}

static double
data_tlb_bound(const struct place *place, uint32_t at)
{
	const struct pipeline *pipeline = place->elimination->pipeline;
	const double pages = touched_anew(place->elimination, at, pipeline->page_bytes);

	return model_cycles(place, pages * pipeline->data_tlb.miss_cycles);
}

/* What is touched again and again may be taken away by other CPUs each time. */
static double
data_cache_bound(const struct place *place, uint32_t at)
{
	const struct pipeline *pipeline = place->elimination->pipeline;
	const double lines = touched_anew(place->elimination, at, pipeline->cache_line);

	return lines > 0 && lines < 1 ? model_cycles(place, lines * pipeline->data.memory_cycles) : INFINITY;
}

static void
suspect_load(const struct place *place, uint32_t at)
{
	const bool is_call = is_call_site(&place->elimination->graph->instructions[at]);
	struct suspect *cache = suspect(place, CAUSE_DATA_CACHE, is_call ? INFINITY : data_cache_bound(place, at));
	struct suspect *tlb = suspect(place, CAUSE_DATA_TLB, is_call ? INFINITY : data_tlb_bound(place, at));

	blame(cache, at);
	blame(tlb, at);
	cache->is_open |= is_call;
	tlb->is_open |= is_call;
}

/* In order: a register that a load makes, or may, which is needed or made anew. */
static void
suspect_register(const struct place *place, uint8_t reg, bool is_read)
{
	const struct elimination *elimination = place->elimination;
	const struct pipeline *pipeline = elimination->pipeline;
	const double cycles = pipeline->data.memory_cycles + pipeline->data_tlb.miss_cycles;
	struct walk walk;

	walk_back_to_use(place->elimination, place->block, place->index, reg, cycles, &walk);
	if (is_read && (walk.from_caller || walk.is_lost)) {
		suspect(place, CAUSE_DATA_CACHE, INFINITY)->is_open = true;
		suspect(place, CAUSE_DATA_TLB, INFINITY)->is_open = true;
	}
	for (uint32_t k = 0; k < walk.count; k++) {
		const struct instruction *maker = &elimination->graph->instructions[walk.at[k]];

		if ((is_read && is_call_site(maker)) || is_loaded_by(maker, reg))
			suspect_load(place, walk.at[k]);
	}
}

static bool
is_read(const struct instruction *instruction, uint8_t reg)
{
	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++)
		if (instruction->reads[i] == reg)
			return true;
	return false;
}

/* A result whose register is not free waits for what makes the older one, too. */
static void
suspect_operands(const struct place *place)
{
	const struct instruction *instruction = place->instruction;

	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++)
		suspect_register(place, instruction->reads[i], true);
	for (unsigned i = 0; i < instruction->write_count; i++)
		if (!is_read(instruction, instruction->writes[i]))
			suspect_register(place, instruction->writes[i], false);
}

void
suspect_data(const struct place *place)
{
	const struct elimination *elimination = place->elimination;
	const struct instruction *instruction = place->instruction;

	if (instruction->loads || instruction->stores)
		blame_itself(place, suspect(place, CAUSE_DATA_TLB, data_tlb_bound(place, place->at)));
	if (elimination->in_order)
		suspect_operands(place);
	else if (instruction->loads)
		blame_itself(place, suspect(place, CAUSE_DATA_CACHE, data_cache_bound(place, place->at)));
	if (instruction->stores && instruction->class != CLASS_ATOMIC) /* whose wait for stores is synchronization */
		blame_itself(place, suspect(place, CAUSE_WRITE_BUFFER, INFINITY));
}
