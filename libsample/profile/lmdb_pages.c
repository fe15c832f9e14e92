#include "profile/lmdb_pages_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

#define PAGES_MAX    (UINT64_C(1) << 28)
#define PAGE_MIN     4096
#define PAGE_MAX     65536
#define META_MAGIC   0xbeefc0deu
#define DATA_VERSION 1
#define VALUE_READS  16 /* times the file, that values are read in one go */

bool
pages_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	return file_read_at(fd, data, size, offset) == (ssize_t)size;
}

bool
pages_read_meta(int fd, uint64_t offset, struct meta_record *meta)
{
	struct page_header header;

	return pages_read_at(fd, &header, sizeof(header), offset) &&
	       pages_read_at(fd, meta, sizeof(*meta), offset + sizeof(header)) && (header.flags & PAGE_META) &&
	       meta->magic == META_MAGIC && meta->version == DATA_VERSION;
}

static bool
is_page_size(uint64_t size)
{
	return size >= PAGE_MIN && size <= PAGE_MAX && (size & (size - 1)) == 0;
}

/* From the first meta page, or else the second, whose offset is the page size. */
static size_t
find_page_size(int fd)
{
	struct meta_record meta;

	if (pages_read_meta(fd, 0, &meta) && is_page_size(meta.free.pad))
		return meta.free.pad;
	for (size_t size = PAGE_MIN; size <= PAGE_MAX; size *= 2)
		if (pages_read_meta(fd, size, &meta) && meta.free.pad == size)
			return size;
	return PAGE_MIN;
}

int
pages_open(int fd, struct pages **pages)
{
	struct pages *new;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	new->page_size = find_page_size(fd);
	new->count = (uint64_t)stat.st_size / new->page_size;
	if (new->count > PAGES_MAX) {
		free(new);
		return -EFBIG;
	}
	new->seen = calloc(new->count / 8 + 1, 1);
	if (!new->seen) {
		free(new);
		return -ENOMEM;
	}
	*pages = new;
	return 0;
}

void
pages_free(struct pages *pages)
{
	if (!pages)
		return;
	for (size_t i = 0; i < DEPTH_MAX; i++)
		free(pages->levels[i]);
	free(pages->value);
	free(pages->seen);
	free(pages);
}

uint64_t
pages_count(const struct pages *pages)
{
	return pages->count;
}

size_t
pages_metas(struct pages *pages, struct pages_meta metas[2])
{
	struct meta_record record;
	size_t count = 0;

	for (uint64_t number = 0; number < 2; number++) {
		if (!pages_read_meta(pages->fd, number * pages->page_size, &record))
			continue;
		metas[count++] = (struct pages_meta){.transaction = record.transaction,
		                                     .main = {record.main.root, record.main.entries},
		                                     .last_page = record.last_page,
		                                     .map_size = record.map_size};
	}
	if (count == 2 && metas[1].transaction > metas[0].transaction) {
		const struct pages_meta newest = metas[1];

		metas[1] = metas[0];
		metas[0] = newest;
	}
	return count;
}

bool
pages_newest(int fd, size_t page_size, uint64_t *transaction)
{
	const uint64_t in_page = sizeof(struct page_header) + offsetof(struct meta_record, transaction);
	uint64_t numbers[2];

	for (size_t i = 0; i < 2; i++)
		if (!pages_read_at(fd, &numbers[i], sizeof(numbers[i]), i * page_size + in_page))
			return false;
	*transaction = numbers[0] < numbers[1] ? numbers[1] : numbers[0];
	return true;
}

struct pages_leaf {
	struct pages *pages;
	const uint8_t *page;
	size_t count;
};

void
pages_begin(struct pages *pages)
{
	memset(pages->seen, 0, pages->count / 8 + 1);
	pages->value_budget = VALUE_READS * pages->count * pages->page_size;
}

/* False when the page was visited before, or does not exist. */
static bool
mark_seen(struct pages *pages, uint64_t number)
{
	const uint8_t bit = (uint8_t)(1 << number % 8);

	if (number >= pages->count || (pages->seen[number / 8] & bit))
		return false;
	pages->seen[number / 8] |= bit;
	return true;
}

size_t
pages_node_count(const struct pages *pages, const uint8_t *page, uint64_t number, unsigned kind)
{
	struct page_header header;

	memcpy(&header, page, sizeof(header));
	if (header.number != number || (header.flags & ~PAGE_DIRTY) != kind || header.lower < sizeof(header) ||
	    header.lower > header.upper || header.upper > pages->page_size)
		return 0;
	return (header.lower - sizeof(header)) / sizeof(uint16_t);
}

size_t
pages_find_node(const struct pages *pages, const uint8_t *page, size_t index, struct node_header *node)
{
	uint16_t offset;

	memcpy(&offset, page + sizeof(struct page_header) + index * sizeof(offset), sizeof(offset));
	if (offset < sizeof(struct page_header) || offset + sizeof(*node) > pages->page_size)
		return 0;
	memcpy(node, page + offset, sizeof(*node));
	if (offset + sizeof(*node) + node->key_size > pages->page_size)
		return 0;
	return offset + sizeof(*node) + node->key_size;
}

static int
read_overflow(struct pages *pages, const uint8_t *data, uint32_t size, const uint8_t **value)
{
	struct page_header header;
	uint64_t number;

	memcpy(&number, data, sizeof(number));
	if (size > PAGES_VALUE_MAX || size > pages->value_budget || number >= pages->count ||
	    !pages_read_at(pages->fd, &header, sizeof(header), number * pages->page_size) || header.number != number ||
	    (header.flags & ~PAGE_DIRTY) != PAGE_OVERFLOW ||
	    header.overflow_pages < (size + sizeof(header) + pages->page_size - 1) / pages->page_size)
		return -DCPI_EDAMAGED;
	pages->value_budget -= size;
	if (size > pages->value_capacity) {
		uint8_t *grown = realloc(pages->value, size);

		if (!grown)
			return -ENOMEM;
		pages->value = grown;
		pages->value_capacity = size;
	}
	if (!pages_read_at(pages->fd, pages->value, size, number * pages->page_size + sizeof(header)))
		return -DCPI_EDAMAGED;
	*value = pages->value;
	return 0;
}

size_t
pages_leaf_count(const struct pages_leaf *leaf)
{
	return leaf->count;
}

int
pages_leaf_entry(const struct pages_leaf *leaf, size_t index, struct pages_entry *entry)
{
	struct pages *pages = leaf->pages;
	struct node_header node = {0};
	const size_t data = pages_find_node(pages, leaf->page, index, &node);
	const uint32_t size = node_number(&node);

	if (data == 0 || (node.flags & ~(NODE_OVERFLOW | NODE_TREE)))
		return -DCPI_EDAMAGED;
	*entry = (struct pages_entry){
		.key = leaf->page + data - node.key_size,
		.key_size = node.key_size,
		.size = size,
		.is_tree = node.flags & NODE_TREE,
	};
	if (node.flags & NODE_OVERFLOW) {
		if (data + sizeof(uint64_t) > pages->page_size)
			return -DCPI_EDAMAGED;
		return read_overflow(pages, leaf->page + data, size, &entry->value);
	}
	entry->value = leaf->page + data;
	return size > pages->page_size - data ? -DCPI_EDAMAGED : 0;
}

int
pages_entry_tree(const struct pages_entry *entry, struct pages_tree *tree)
{
	struct tree_record record;

	if (!entry->is_tree || entry->size != sizeof(record))
		return -DCPI_EDAMAGED;
	memcpy(&record, entry->value, sizeof(record));
	*tree = (struct pages_tree){record.root, record.entries};
	return 0;
}

uint8_t *
pages_level(struct pages *pages, size_t level)
{
	if (!pages->levels[level])
		pages->levels[level] = malloc(pages->page_size);
	return pages->levels[level];
}

static uint64_t
child_of(const struct pages *pages, const uint8_t *page, size_t index)
{
	struct node_header node = {0};

	if (pages_find_node(pages, page, index, &node) == 0)
		return NO_PAGE;
	return node_child(&node);
}

static int
walk(struct pages *pages, uint64_t number, size_t level, pages_visit *visit, void *context, uint64_t *damaged)
{
	struct pages_leaf leaf = {.pages = pages};
	uint8_t *page;
	size_t children;
	int err = 0;

	page = level < DEPTH_MAX ? pages_level(pages, level) : NULL;
	if (!page && level < DEPTH_MAX)
		return -ENOMEM;
	if (!page || !mark_seen(pages, number) ||
	    !pages_read_at(pages->fd, page, pages->page_size, number * pages->page_size)) {
		++*damaged;
		return 0;
	}
	leaf.page = page;
	leaf.count = pages_node_count(pages, page, number, PAGE_LEAF);
	if (leaf.count > 0)
		return visit(context, &leaf);
	children = pages_node_count(pages, page, number, PAGE_BRANCH);
	if (children == 0)
		++*damaged;
	for (size_t i = 0; i < children && !err; i++)
		err = walk(pages, child_of(pages, page, i), level + 1, visit, context, damaged);
	return err;
}

int
pages_walk(struct pages *pages, const struct pages_tree *tree, pages_visit *visit, void *context, uint64_t *damaged)
{
	return tree->root == NO_PAGE ? 0 : walk(pages, tree->root, 0, visit, context, damaged);
}

int
pages_scan(struct pages *pages, pages_visit *visit, void *context)
{
	struct pages_leaf leaf = {.pages = pages, .page = pages_level(pages, 0)};
	int err = 0;

	if (!leaf.page)
		return -ENOMEM;
	for (uint64_t number = 0; number < pages->count && !err; number++) {
		if (pages->seen[number / 8] & 1 << number % 8 ||
		    !pages_read_at(pages->fd, pages->levels[0], pages->page_size, number * pages->page_size))
			continue;
		leaf.count = pages_node_count(pages, leaf.page, number, PAGE_LEAF);
		if (leaf.count > 0)
			err = visit(context, &leaf);
	}
	return err;
}
