/* DCPI's local propagation: a flow that all others around a block determine. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/frequency_private.h"

/* What is known at one side of a block. */
struct side {
	double known;     /* sum */
	uint32_t unknown; /* edges without a value */
	uint32_t edge;    /* the last of those */
	uint8_t confidence;
};

/* Blocks whose surroundings changed. Each block comes in again only when an edge beside it became known. */
struct worklist {
	uint32_t *blocks;
	bool *is_in;
	size_t count;
};

static void
worklist_add(struct worklist *list, uint32_t block)
{
	if (block == FLOW_OUTSIDE || list->is_in[block])
		return;
	list->is_in[block] = true;
	list->blocks[list->count++] = block;
}

static struct side
look_at_side(const struct estimation *estimation, const uint32_t *edges, uint32_t count)
{
	struct side side = {.confidence = CONFIDENCE_EXACT};

	for (uint32_t i = 0; i < count; i++) {
		const struct frequency *edge = &estimation->result->edges[edges[i]];

		if (edge->confidence == CONFIDENCE_NONE) {
			side.unknown++;
			side.edge = edges[i];
			continue;
		}
		side.known += edge->value;
		if (edge->confidence < side.confidence)
			side.confidence = edge->confidence;
	}
	return side;
}

/* A small difference of large numbers is worth less than they are. */
static uint8_t
difference_confidence(double rest, double known, uint8_t confidence)
{
	if (confidence == CONFIDENCE_EXACT)
		return confidence;
	if (rest < 0.25 * known)
		return CONFIDENCE_LOW;
	return rest < known && confidence > CONFIDENCE_LOW ? confidence - 1 : confidence;
}

static void
settle_edge(struct estimation *estimation, const struct frequency *block, const struct side *side,
            struct worklist *list)
{
	const struct flow_edge *edge = &estimation->graph->edges[side->edge];
	const double rest = block->value - side->known;
	const uint8_t confidence = block->confidence < side->confidence ? block->confidence : side->confidence;

	estimation->result->edges[side->edge] = (struct frequency){
		.value = rest > 0 ? rest : 0,
		.confidence = difference_confidence(rest, side->known, confidence),
		.method = FREQUENCY_PROPAGATED,
	};
	worklist_add(list, edge->from);
	worklist_add(list, edge->to);
}

static void
settle_side(struct estimation *estimation, uint32_t block, const struct side *side, uint32_t edges,
            struct worklist *list)
{
	struct frequency *frequency = &estimation->result->blocks[block];

	if (edges == 0)
		return;
	if (side->unknown == 0 && frequency->confidence == CONFIDENCE_NONE) {
		*frequency = (struct frequency){side->known, side->confidence, FREQUENCY_PROPAGATED};
		worklist_add(list, block);
	}
	if (side->unknown == 1 && frequency->confidence != CONFIDENCE_NONE)
		settle_edge(estimation, frequency, side, list);
}

int
propagate(struct estimation *estimation)
{
	const struct flow_graph *graph = estimation->graph;
	struct worklist list = {
		.blocks = calloc(graph->block_count + 1, sizeof(*list.blocks)),
		.is_in = calloc(graph->block_count + 1, sizeof(*list.is_in)),
	};

	if (!list.blocks || !list.is_in) {
		free(list.is_in);
		free(list.blocks);
		return -ENOMEM;
	}
	for (size_t i = graph->block_count; i-- > 0;)
		worklist_add(&list, (uint32_t)i);
	while (list.count > 0) {
		const uint32_t block = list.blocks[--list.count];
		const struct flow_block *at = &graph->blocks[block];
		struct side side;

		list.is_in[block] = false;
		side = look_at_side(estimation, graph->ins + at->in, at->in_count);
		settle_side(estimation, block, &side, at->in_count, &list);
		side = look_at_side(estimation, graph->outs + at->out, at->out_count);
		settle_side(estimation, block, &side, at->out_count, &list);
	}
	free(list.is_in);
	free(list.blocks);
	return 0;
}
