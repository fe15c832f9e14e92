#include "process/stack_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "process/hash.h"

/*
 * Open addressing: `slots` has the numbers of nodes, 0 where it is free, and is at most half full. Nothing is ever
 * taken out one by one.
 */
struct stack_table {
	struct stack_node *nodes; /* of number i + 1 */
	uint32_t *slots;
	size_t capacity, slot_count; /* slot_count is a power of two */
	uint32_t count;
	size_t limit;
};

#define SLOTS_FIRST 1024

static const struct {
	const char *name, *text;
} ends[] = {
#define STACK_END_ENTRY(value, name, text) [value] = {name, text},
	STACK_ENDS(STACK_END_ENTRY)
#undef STACK_END_ENTRY
};

const char *
stack_end_name(unsigned end)
{
	return end < STACK_END_COUNT ? ends[end].name : "other";
}

const char *
stack_end_text(unsigned end)
{
	return end < STACK_END_COUNT ? ends[end].text : "for another reason";
}

struct stack_table *
stack_table_new(size_t limit)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->slot_count = SLOTS_FIRST;
	table->slots = calloc(table->slot_count, sizeof(*table->slots));
	table->limit = limit < UINT32_MAX / 4 ? limit : UINT32_MAX / 4;
	if (table->slots)
		return table;
	free(table);
	return NULL;
}

void
stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	free(table->nodes);
	free(table->slots);
	free(table);
}

static size_t
node_hash(const struct stack_node *node)
{
	return (size_t)hash_mix(hash_mix(node->offset, node->image), node->caller);
}

static bool
is_equal(const struct stack_node *a, const struct stack_node *b)
{
	return a->offset == b->offset && a->image == b->image && a->caller == b->caller;
}

/* The slot that has the node, or a free one. */
static uint32_t *
find_slot(uint32_t *slots, size_t slot_count, const struct stack_node *nodes, const struct stack_node *node)
{
	size_t at = node_hash(node) & (slot_count - 1);

	while (slots[at] && !is_equal(&nodes[slots[at] - 1], node))
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

static int
grow(struct stack_table *table)
{
	const size_t slot_count = 2 * table->slot_count;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++)
		*find_slot(slots, slot_count, table->nodes, &table->nodes[i]) = i + 1;
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

int
stack_table_intern(struct stack_table *table, const struct stack_node *node, uint32_t *number)
{
	struct stack_node *nodes;
	uint32_t *slot;

	if (node->caller > table->count)
		return -EINVAL;
	/* nodes that came with one stack lie side by side: most of a stack's are found without waiting for memory */
	if (node->caller < table->count && is_equal(&table->nodes[node->caller], node)) {
		*number = node->caller + 1;
		return 0;
	}
	slot = find_slot(table->slots, table->slot_count, table->nodes, node);
	if (*slot) {
		*number = *slot;
		return 0;
	}
	if (table->count >= table->limit)
		return -ENOSPC;
	nodes = array_grow(table->nodes, &table->capacity, (size_t)table->count + 1, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	table->nodes = nodes;
	if (2 * ((size_t)table->count + 1) > table->slot_count) {
		if (grow(table))
			return -ENOMEM;
		slot = find_slot(table->slots, table->slot_count, table->nodes, node);
	}
	nodes[table->count++] = *node;
	*number = *slot = table->count;
	return 0;
}

uint32_t
stack_table_count(const struct stack_table *table)
{
	return table->count;
}

const struct stack_node *
stack_table_nodes(const struct stack_table *table, uint32_t number)
{
	return &table->nodes[number - 1];
}

size_t
stack_table_bytes(const struct stack_table *table)
{
	return sizeof(*table) + table->capacity * sizeof(*table->nodes) + table->slot_count * sizeof(*table->slots);
}
