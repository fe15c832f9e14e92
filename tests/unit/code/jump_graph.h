/*
 * jump_graph.h - the flow graph of some code with a table, as text
 *
 * For unit tests; each keeps a copy. Code is at CODE, the table at TABLE.
 */
#ifndef DCPI_TEST_JUMP_GRAPH_H
#define DCPI_TEST_JUMP_GRAPH_H

#include <stdlib.h>

#include "code/flow_graph_build.h"
#include "tests/unit/code/flow_text.h"

#define CODE  0x1000
#define TABLE 0x2000

struct image {
	const uint8_t *table;
	size_t size;
};

static inline const uint8_t *
data_at(void *argument, uint64_t address, size_t *size)
{
	const struct image *image = argument;

	if (address < TABLE || address - TABLE >= image->size)
		return NULL;
	*size = image->size - (address - TABLE);
	return image->table + (address - TABLE);
}

static inline struct flow_graph *
build(enum architecture architecture, const uint8_t *code, size_t code_size, const uint8_t *table, size_t table_size)
{
	const struct code_part part = {.address = CODE, .bytes = code, .size = code_size};
	struct image image = {table, table_size};
	const struct flow_source source = {
		.architecture = architecture, .parts = &part, .part_count = 1, .argument = &image, .data = data_at};
	struct decoder *decoder = decoder_new(architecture);
	struct flow_graph *graph = NULL;

	assert_non_null(decoder);
	assert_int_equal(flow_graph_build(decoder, &source, &graph), 0);
	assert_null(flow_graph_fault(graph));
	decoder_free(decoder);
	return graph;
}

static inline void
assert_graph(struct flow_graph *graph, const char *expected)
{
	char *text = flow_text(graph);

	assert_string_equal(text, expected);
	free(text);
	flow_graph_free(graph);
}

#define NAMED(name) name##_code, sizeof(name##_code), name##_table, sizeof(name##_table)

#endif
