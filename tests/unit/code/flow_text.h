/*
 * flow_text.h - flow graphs as text, for tests
 */
#ifndef DCPI_TESTS_FLOW_TEXT_H
#define DCPI_TESTS_FLOW_TEXT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "code/flow_graph.h"
#include "tests/unit/code/flow_graph_check.h"

/*
 * "in: 0 3", the blocks that are entered, then a line per block: its number, first address, number of instructions, and
 * where it goes ("1000 x2: fall 1, taken 4"). Exits have no number. Free it.
 */
static inline char *
flow_text(const struct flow_graph *graph)
{
	static const char *const kinds[] = {"fall",  "taken", "table",    "unknown",
	                                    "entry", "exit",  "noreturn", "endless"};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	fputs("in:", out);
	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from == FLOW_OUTSIDE)
			fprintf(out, " %" PRIu32, graph->edges[i].to);
	}
	fputs(graph->is_complete ? "\n" : " (incomplete)\n", out);
	for (size_t i = 0; i < graph->block_count; i++) {
		const struct flow_block *block = &graph->blocks[i];

		fprintf(out, "%zu %" PRIx64 " x%" PRIu32 "%s:", i, graph->instructions[block->first].address,
		        block->count, block->is_cold ? " cold" : "");
		for (uint32_t j = 0; j < block->out_count; j++) {
			const struct flow_edge *edge = &graph->edges[graph->outs[block->out + j]];

			fprintf(out, "%s %s", j ? "," : "", kinds[edge->kind]);
			if (edge->to != FLOW_OUTSIDE)
				fprintf(out, " %" PRIu32, edge->to);
		}
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

#endif
