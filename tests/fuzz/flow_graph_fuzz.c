/*
 * Any bytes can be the text of a procedure, and any others its tables. The first byte says which architecture, how many
 * parts, and which calls return; half of what follows is text, the rest constants behind it, where its tables may lie.
 */
#include <stdint.h>
#include <stdlib.h>

#include "code/cycle_equivalence.h"
#include "code/flow_graph.h"
#include "tests/unit/code/flow_graph_check.h"

#define TEXT_ADDRESS    0x1000
#define SIZE_MAX_FUZZED 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct constants {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	uint8_t flags;
};

static const uint8_t *
constants_at(void *argument, uint64_t address, size_t *size)
{
	const struct constants *constants = argument;

	if (address < constants->address || address - constants->address >= constants->size)
		return NULL;
	*size = constants->size - (address - constants->address);
	return constants->bytes + (address - constants->address);
}

static bool
returns_at(void *argument, uint64_t address)
{
	const struct constants *constants = argument;

	return !(constants->flags & 2) || address & 4;
}

static void
graph_look(const struct flow_graph *graph)
{
	struct cycle_equivalence equivalence;

	if (flow_graph_fault(graph))
		abort();
	for (uint32_t i = 0; i < graph->block_count; i++) {
		if (flow_graph_block_at(graph, graph->instructions[graph->blocks[i].first].address) != i)
			abort();
	}
	if (cycle_equivalence_find(graph, &equivalence))
		return;
	if (equivalence.class_count > graph->block_count + graph->edge_count)
		abort();
	cycle_equivalence_fini(&equivalence);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct decoder *decoders[ARCHITECTURE_COUNT];
	size_t text = size / 2, second;
	struct constants constants;
	struct code_part parts[2];
	struct flow_source source = {.parts = parts, .part_count = 1, .data = constants_at, .returns = returns_at};
	struct flow_graph *graph;

	if (text < 2 || size > SIZE_MAX_FUZZED)
		return 0;
	constants = (struct constants){data + 1 + text, size - 1 - text, TEXT_ADDRESS + text, data[0]};
	source.architecture = data[0] & 1 ? ARCHITECTURE_AARCH64 : ARCHITECTURE_X86_64;
	source.argument = &constants;
	parts[0] = (struct code_part){.address = TEXT_ADDRESS, .bytes = data + 1, .size = text};
	second = text / 2;
	if (data[0] & 4) { /* the part with the entry is the one that lies behind */
		parts[0].address += second;
		parts[0].bytes += second;
		parts[0].size -= second;
		parts[1] =
			(struct code_part){.address = TEXT_ADDRESS, .bytes = data + 1, .size = second, .is_cold = true};
		source.part_count = 2;
	}
	if (!decoders[source.architecture])
		decoders[source.architecture] = decoder_new(source.architecture);
	if (!decoders[source.architecture])
		return 0;
	if (flow_graph_build(decoders[source.architecture], &source, &graph))
		return 0;
	graph_look(graph);
	flow_graph_free(graph);
	return 0;
}
