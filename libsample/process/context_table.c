#include "process/context_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/hash.h"

/* `text` has the three strings one after the other, each with its NUL, and is also the key. */
struct context_node {
	UT_hash_handle hh;
	uint32_t number;
	struct context context;
	char text[];
};

struct context_table {
	struct context_node *by_text;
	struct context_node **nodes; /* by number */
	uint32_t count;
	size_t capacity;
	size_t bytes; /* of the nodes */
	bool is_full;
};

struct context_table *
context_table_new(void)
{
	return calloc(1, sizeof(struct context_table));
}

void
context_table_free(struct context_table *table)
{
	if (!table)
		return;
	HASH_CLEAR(hh, table->by_text);
	for (uint32_t i = 0; i < table->count; i++)
		free(table->nodes[i]);
	free(table->nodes);
	free(table);
}

static const char *
append_string(char *text, size_t *used, const char *string, size_t length)
{
	char *copy = text + *used;

	memcpy(copy, string, length);
	copy[length] = '\0';
	*used += length + 1;
	return copy;
}

/* A node that holds the key and is in no table yet. */
static struct context_node *
node_new(const struct context *context, size_t *text_size)
{
	const char *comm = context->comm ? context->comm : "";
	const char *cgroup = context->cgroup ? context->cgroup : "";
	const char *label = context->label ? context->label : "";
	size_t comm_length = strnlen(comm, COMM_SIZE - 1), cgroup_length = strlen(cgroup), label_length = strlen(label);
	struct context_node *node = calloc(1, sizeof(*node) + comm_length + cgroup_length + label_length + 3);
	size_t used = 0;

	if (!node)
		return NULL;
	node->context.comm = append_string(node->text, &used, comm, comm_length);
	node->context.cgroup = append_string(node->text, &used, cgroup, cgroup_length);
	node->context.label = append_string(node->text, &used, label, label_length);
	*text_size = used;
	return node;
}

static int
add_node(struct context_table *table, struct context_node *node, size_t size)
{
	struct context_node **nodes =
		array_grow(table->nodes, &table->capacity, (size_t)table->count + 1, sizeof(struct context_node *));

	if (!nodes)
		return -ENOMEM;
	table->nodes = nodes;
	HASH_ADD_KEYPTR(hh, table->by_text, node->text, size, node);
	if (!hash_added(node))
		return -ENOMEM;
	node->number = table->count;
	table->bytes += sizeof(*node) + size;
	table->nodes[table->count++] = node;
	return 0;
}

int
context_table_intern(struct context_table *table, const struct context *context, uint32_t *number)
{
	static const struct context other = {.comm = CONTEXT_OTHER};
	struct context_node *node, *known;
	size_t size;
	int err;

	node = node_new(context, &size);
	if (!node)
		return -ENOMEM;
	HASH_FIND(hh, table->by_text, node->text, size, known);
	if (known) {
		free(node);
		*number = known->number;
		return 0;
	}
	/* once full, always full: otherwise short names would still fit after a long one did not */
	if (context != &other &&
	    (table->is_full || context_table_bytes(table) + sizeof(*node) + size > CONTEXT_TABLE_BYTES_MAX)) {
		free(node);
		table->is_full = true;
		return context_table_intern(table, &other, number);
	}
	err = add_node(table, node, size);
	if (err) {
		free(node);
		return err;
	}
	*number = node->number;
	return 0;
}

const struct context *
context_table_get(const struct context_table *table, uint32_t number)
{
	return &table->nodes[number]->context;
}

uint32_t
context_table_count(const struct context_table *table)
{
	return table->count;
}

size_t
context_table_bytes(const struct context_table *table)
{
	return table->bytes + table->capacity * sizeof(struct context_node *);
}

bool
context_table_is_full(const struct context_table *table)
{
	return table->is_full;
}
