#include "process/image_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/hash.h"
#include "process/image_identity.h"

struct image_node {
	UT_hash_handle hh;
	uint32_t number;
	struct image_identity identity;
	struct image image;
	char path[]; /* also the key of an image that only its name identifies */
};

struct image_table {
	struct image_node *by_identity;
	struct image_node *by_name[IMAGE_KINDS];
	struct image_node **nodes; /* by number */
	uint32_t count;
	size_t capacity;
	size_t bytes; /* of the nodes */
	bool is_full;
};

struct image_table *
image_table_new(void)
{
	return calloc(1, sizeof(struct image_table));
}

void
image_table_free(struct image_table *table)
{
	if (!table)
		return;
	HASH_CLEAR(hh, table->by_identity);
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++)
		HASH_CLEAR(hh, table->by_name[kind]);
	for (uint32_t i = 0; i < table->count; i++)
		free(table->nodes[i]);
	free(table->nodes);
	free(table);
}

/* A number for a node of `size` bytes. */
static int
reserve_number(struct image_table *table, size_t size)
{
	struct image_node **nodes;

	/* once full, always full: or else a name would be kept by its length */
	if (table->is_full || image_table_bytes(table) + size > IMAGE_TABLE_BYTES_MAX) {
		table->is_full = true;
		return -ENOSPC;
	}
	nodes = array_grow(table->nodes, &table->capacity, (size_t)table->count + 1, sizeof(struct image_node *));
	if (!nodes)
		return -ENOMEM;
	table->nodes = nodes;
	return 0;
}

static struct image_node *
node_new(const struct image *image, const char *path)
{
	size_t size = strlen(path) + 1;
	struct image_node *node = calloc(1, sizeof(*node) + size);

	if (!node)
		return NULL;
	memcpy(node->path, path, size);
	node->image = *image;
	node->image.kind = image_kind_checked(image->kind);
	node->image.path = node->path;
	return node;
}

int
image_table_intern(struct image_table *table, const struct image *image, uint32_t *number)
{
	struct image_node **by_name = &table->by_name[image_kind_checked(image->kind)];
	const char *path = image->path ? image->path : "";
	struct image_identity identity;
	struct image_node *node;
	bool identified = image_identity(image, &identity);
	int err;

	if (identified)
		HASH_FIND(hh, table->by_identity, &identity, sizeof(identity), node);
	else
		HASH_FIND_STR(*by_name, path, node);
	if (node) {
		*number = node->number;
		return 0;
	}
	err = reserve_number(table, sizeof(*node) + strlen(path) + 1);
	if (err)
		return err;
	node = node_new(image, path);
	if (!node)
		return -ENOMEM;
	node->identity = identity;
	if (identified)
		HASH_ADD(hh, table->by_identity, identity, sizeof(identity), node);
	else
		HASH_ADD_STR(*by_name, path, node);
	if (!hash_added(node)) {
		free(node);
		return -ENOMEM;
	}
	node->number = table->count;
	table->bytes += sizeof(*node) + strlen(path) + 1;
	table->nodes[table->count++] = node;
	*number = node->number;
	return 0;
}

const struct image *
image_table_get(const struct image_table *table, uint32_t number)
{
	return &table->nodes[number]->image;
}

uint32_t
image_table_count(const struct image_table *table)
{
	return table->count;
}

size_t
image_table_bytes(const struct image_table *table)
{
	return table->bytes + table->capacity * sizeof(struct image_node *);
}

bool
image_table_is_full(const struct image_table *table)
{
	return table->is_full;
}
