/* Back over the flow graph, to what an instruction may wait for. */
#include <string.h>

#include "analysis/stalls_private.h"

#define STEPS_MAX 4096 /* instructions of one search: what is farther away is not found, and assumed */

struct search {
	struct elimination *elimination;
	uint8_t reg;
	uint64_t classes;
	double cycles; /* no farther */
	bool ends_at_use;
	uint32_t steps_left;
	uint32_t head, tail; /* of the queue */
	struct walk *walk;
};

double
edge_share(const struct elimination *elimination, uint32_t edge, uint32_t block)
{
	const struct frequency *way = &elimination->input->frequencies->edges[edge];
	const struct frequency *whole = &elimination->input->frequencies->blocks[block];
	double share;

	if (way->confidence == CONFIDENCE_NONE || whole->confidence == CONFIDENCE_NONE || !(whole->value > 0))
		return 1;
	share = way->value / whole->value;
	if (!(share >= RARE_EDGE))
		return 0;
	return share < 1 ? share : 1;
}

static void
found(struct walk *walk, uint32_t instruction)
{
	for (uint32_t i = 0; i < walk->count; i++)
		if (walk->at[i] == instruction)
			return;
	if (walk->count == SUSPECT_CULPRITS_MAX)
		walk->is_lost = true;
	else
		walk->at[walk->count++] = instruction;
}

static bool
is_looked_for(const struct search *search, const struct instruction *instruction)
{
	if (instruction->flow == FLOW_CALL || instruction->flow == FLOW_CALL_INDIRECT)
		return true;
	if (instruction->class < CLASS_COUNT && search->classes >> instruction->class & 1)
		return true;
	for (unsigned i = 0; i < instruction->write_count && search->reg != REGISTER_NONE; i++)
		if (instruction->writes[i] == search->reg)
			return true;
	return false;
}

static bool
is_needed(const struct search *search, const struct instruction *instruction)
{
	for (unsigned i = 0; i < instruction->read_count && search->ends_at_use && !instruction->clears; i++)
		if (instruction->reads[i] == search->reg)
			return true;
	return false;
}

/* Back from before instruction `index` of the block to its beginning; false when the search ends in it. */
static bool
scan_block(struct search *search, uint32_t block, uint32_t index, double *distance)
{
	const struct elimination *elimination = search->elimination;
	const struct flow_block *at = &elimination->graph->blocks[block];

	while (index-- > 0) {
		const struct instruction *instruction = &elimination->graph->instructions[at->first + index];

		if (search->steps_left == 0) {
			search->walk->is_lost = true;
			return false;
		}
		search->steps_left--;
		search->walk->steps++;
		if (is_looked_for(search, instruction)) {
			found(search->walk, at->first + index);
			return false;
		}
		if (is_needed(search, instruction))
			return false;
		*distance += elimination->input->schedules[block].lines[index].minimum_cycles;
		if (!(*distance < search->cycles))
			return false;
	}
	return true;
}

static void
add_sources(struct search *search, uint32_t block, double distance)
{
	struct elimination *elimination = search->elimination;
	const struct flow_block *at = &elimination->graph->blocks[block];

	for (uint32_t i = 0; i < at->in_count; i++) {
		const uint32_t edge = elimination->graph->ins[at->in + i];
		const uint32_t from = elimination->graph->edges[edge].from;

		if (edge_share(elimination, edge, block) <= 0)
			continue;
		if (from == FLOW_OUTSIDE) {
			search->walk->from_caller = true;
			continue;
		}
		if (elimination->seen[from] == elimination->search)
			continue;
		elimination->seen[from] = elimination->search;
		elimination->queue[search->tail] = from;
		elimination->distances[search->tail++] = distance;
	}
}

static void
walk(struct search *search, uint32_t block, uint32_t index)
{
	struct elimination *elimination = search->elimination;
	double distance = 0;

	memset(search->walk, 0, sizeof(*search->walk));
	elimination->search++;
	if (!scan_block(search, block, index, &distance))
		return;
	add_sources(search, block, distance);
	while (search->head < search->tail) {
		const uint32_t next = elimination->queue[search->head];

		distance = elimination->distances[search->head++];
		if (scan_block(search, next, elimination->graph->blocks[next].count, &distance))
			add_sources(search, next, distance);
	}
}

void
walk_back(struct elimination *elimination, uint32_t block, uint32_t index, uint8_t reg, uint64_t classes, double cycles,
          struct walk *result)
{
	struct search search = {
		.elimination = elimination,
		.reg = reg,
		.classes = classes,
		.cycles = cycles,
		.steps_left = STEPS_MAX,
		.walk = result,
	};

	walk(&search, block, index);
}

void
walk_back_to_use(struct elimination *elimination, uint32_t block, uint32_t index, uint8_t reg, double cycles,
                 struct walk *result)
{
	struct search search = {
		.elimination = elimination,
		.reg = reg,
		.cycles = cycles,
		.ends_at_use = true,
		.steps_left = STEPS_MAX,
		.walk = result,
	};

	walk(&search, block, index);
}
