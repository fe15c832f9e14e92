#include "profile/lmdb_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

#define DEPTH_MAX    32 /* LMDB's own cursors go no deeper */
#define PAGES_MAX    (UINT64_C(1) << 28)
#define PAGE_MIN     4096
#define PAGE_MAX     65536
#define META_MAGIC   0xbeefc0deu
#define DATA_VERSION 1
#define VALUE_READS  16 /* times the file, that values are read in one go */
#define FIRST_PAGE   2  /* behind the meta pages */
#define KEY_SIZE_MAX 511

struct pages {
	int fd;
	size_t page_size;
	uint64_t count;
	uint8_t *seen;              /* a bit a page */
	uint8_t *levels[DEPTH_MAX]; /* a page each, made when needed */
	uint8_t *value;             /* the last one from overflow pages */
	size_t value_capacity;
	uint64_t value_budget; /* bytes of them that may still be read: many entries can point to one */
};

struct pages_leaf {
	struct pages *pages;
	const uint8_t *page;
	size_t count;
};

/* Size of a value, or the lower bits of a child's page number: where the two halves lie depends on the machine. */
static uint32_t
node_number(const struct node_header *node)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? node->low | (uint32_t)node->high << 16
	                                                 : node->high | (uint32_t)node->low << 16;
}

static uint64_t
node_child(const struct node_header *node)
{
	return node_number(node) | (uint64_t)node->flags << 32;
}

/* False when not all of it could be read. */
static bool
pages_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	return file_read_at(fd, data, size, offset) == (ssize_t)size;
}

/* The meta page there; false when it is none. */
static bool
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

/* Pointers to nodes: their number, or 0 when the header makes no sense for a branch or leaf page. */
static size_t
pages_node_count(const struct pages *pages, const uint8_t *page, uint64_t number, unsigned kind)
{
	struct page_header header;

	memcpy(&header, page, sizeof(header));
	if (header.number != number || (header.flags & ~PAGE_DIRTY) != kind || header.lower < sizeof(header) ||
	    header.lower > header.upper || header.upper > pages->page_size)
		return 0;
	return (header.lower - sizeof(header)) / sizeof(uint16_t);
}

/* Node `index`, whose header and key lie inside the page: where its data begin, or 0. */
static size_t
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

/* A page's memory for this level of a walk; NULL: there is none. */
static uint8_t *
pages_level(struct pages *pages, size_t level)
{
	if (!pages->levels[level])
		pages->levels[level] = malloc(pages->page_size);
	return pages->levels[level];
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
	for (size_t i = 0; i < children && !err; i++) {
		struct node_header node = {0};
		const bool is_there = pages_find_node(pages, page, i, &node) > 0;

		err = walk(pages, is_there ? node_child(&node) : NO_PAGE, level + 1, visit, context, damaged);
	}
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

/* ---- is a foreign file safe to be opened by LMDB? ---- */

enum tree_flags {
	TREE_INTEGER_KEYS = 0x08, /* of the free pages' tree only */
	TREE_STRANGE = 0x77,      /* keys backwards, duplicates, mappings at fixed addresses */
};

enum tree_kind { KIND_FREE, KIND_MAIN, KIND_TABLE };

struct verifier {
	struct pages *pages;
	uint64_t end;    /* pages in use are below */
	uint8_t *inside; /* PAGE_MAX / 2: halfwords of a page that are a node's */
	char *why;
	size_t why_size;
};

/* The tree that is being verified. */
struct verify_tree {
	enum tree_kind kind;
	unsigned depth;
	uint64_t entries;
};

static int verify_tree(struct verifier *verifier, enum tree_kind kind, const struct tree_record *record);

static int
refuse(struct verifier *verifier, uint64_t page, const char *what)
{
	snprintf(verifier->why, verifier->why_size, "page %" PRIu64 " %s", page, what);
	return -DCPI_EDAMAGED;
}

/* Mark pages as used. False: one of them is used already, or does not exist. */
static bool
claim(struct verifier *verifier, uint64_t number, uint64_t count)
{
	if (number < FIRST_PAGE || number >= verifier->end || count > verifier->end - number)
		return false;
	for (uint64_t page = number; page < number + count; page++)
		if (!mark_seen(verifier->pages, page))
			return false;
	return true;
}

/* A node's bytes, in a page whose nodes begin at `upper`, are its own. */
static bool
claim_node(struct verifier *verifier, const uint8_t *page, size_t begin, size_t end)
{
	struct page_header header;

	memcpy(&header, page, sizeof(header));
	end += end & 1;
	if (begin & 1 || begin < header.upper || end > verifier->pages->page_size)
		return false;
	for (size_t i = begin / 2; i < end / 2; i++) {
		if (verifier->inside[i])
			return false;
		verifier->inside[i] = 1;
	}
	return true;
}

/* A value that has pages of its own: where it begins in the file. */
static int
verify_overflow(struct verifier *verifier, uint64_t leaf, const uint8_t *data, uint32_t size, uint64_t *offset)
{
	const size_t page_size = verifier->pages->page_size;
	struct page_header header;
	uint64_t number;

	memcpy(&number, data, sizeof(number));
	if (number >= verifier->end ||
	    !pages_read_at(verifier->pages->fd, &header, sizeof(header), number * page_size) ||
	    header.number != number || header.flags != PAGE_OVERFLOW || header.overflow_pages == 0 ||
	    (uint64_t)header.overflow_pages * page_size < (uint64_t)size + sizeof(header))
		return refuse(verifier, leaf, "has a value on pages that are not its own");
	if (!claim(verifier, number, header.overflow_pages))
		return refuse(verifier, number, "is used twice, or lies outside");
	*offset = number * page_size + sizeof(header);
	return 0;
}

/* A list of free pages: how many, and their numbers. `data` is the value, or NULL: it is in the file at `offset`. */
static int
verify_free(struct verifier *verifier, uint64_t leaf, const uint8_t *data, uint32_t size, uint64_t offset)
{
	uint64_t number, before = UINT64_MAX;

	if (size == 0 || size % sizeof(number))
		return refuse(verifier, leaf, "has a list of free pages that is none");
	for (uint32_t at = 0; at < size; at += sizeof(number)) {
		if (data)
			memcpy(&number, data + at, sizeof(number));
		else if (!pages_read_at(verifier->pages->fd, &number, sizeof(number), offset + at))
			return refuse(verifier, leaf, "cannot be read");
		if (at == 0 && number != size / sizeof(number) - 1)
			return refuse(verifier, leaf, "has a list of free pages of another length");
		if (at > 0 && (number >= before || !claim(verifier, number, 1)))
			return refuse(verifier, number, "is free and in use, or lies outside");
		before = at > 0 ? number : UINT64_MAX;
	}
	return 0;
}

static int
verify_entry(struct verifier *verifier, const struct verify_tree *branch, uint64_t number, const uint8_t *page,
             size_t index)
{
	struct node_header node = {0};
	const size_t data = pages_find_node(verifier->pages, page, index, &node);
	const uint32_t size = node_number(&node);
	const bool is_apart = node.flags & NODE_OVERFLOW;
	uint64_t offset = 0;
	struct tree_record record;
	int err;

	if (data == 0 || node.key_size == 0 || node.key_size > KEY_SIZE_MAX ||
	    size > (is_apart ? UINT32_MAX : verifier->pages->page_size) ||
	    !claim_node(verifier, page, data - node.key_size - sizeof(node),
	                data + (is_apart ? sizeof(uint64_t) : size)))
		return refuse(verifier, number, "has an entry that does not lie in it");
	if (node.flags != (branch->kind == KIND_MAIN ? NODE_TREE : node.flags & NODE_OVERFLOW))
		return refuse(verifier, number, "has an entry of another kind");
	if (is_apart) {
		err = verify_overflow(verifier, number, page + data, size, &offset);
		if (err)
			return err;
	}
	if (branch->kind == KIND_FREE)
		return verify_free(verifier, number, is_apart ? NULL : page + data, size, offset);
	if (branch->kind != KIND_MAIN)
		return 0;
	if (size != sizeof(record))
		return refuse(verifier, number, "has a table that is none");
	memcpy(&record, page + data, sizeof(record));
	return verify_tree(verifier, KIND_TABLE, &record);
}

static int
verify_page(struct verifier *verifier, struct verify_tree *branch, uint64_t number, unsigned level)
{
	struct pages *pages = verifier->pages;
	const bool is_leaf = level + 1 == branch->depth;
	/* tables are walked while a leaf of the main tree is looked at */
	uint8_t *page = pages_level(pages, level + (branch->kind == KIND_TABLE ? DEPTH_MAX / 2 : 0));
	struct page_header header;
	size_t count;
	int err = 0;

	if (!page)
		return -ENOMEM;
	if (!claim(verifier, number, 1))
		return refuse(verifier, number, "is used twice, or lies outside");
	if (!pages_read_at(pages->fd, page, pages->page_size, number * pages->page_size))
		return refuse(verifier, number, "cannot be read");
	memcpy(&header, page, sizeof(header));
	count = pages_node_count(pages, page, number, is_leaf ? PAGE_LEAF : PAGE_BRANCH);
	if (header.flags & PAGE_DIRTY || header.lower & 1 || count == 0 ||
	    (!is_leaf && count == 1 && branch->kind != KIND_FREE))
		return refuse(verifier, number, "is not what its place in the tree says");
	/* Claim all nodes of a branch before visiting its children, which write over the map. */
	memset(verifier->inside, 0, PAGE_MAX / 2);
	for (size_t i = 0; i < count && !is_leaf; i++) {
		struct node_header node = {0};
		const size_t data = pages_find_node(pages, page, i, &node);

		if (data == 0 || node.key_size > KEY_SIZE_MAX ||
		    !claim_node(verifier, page, data - node.key_size - sizeof(node), data))
			return refuse(verifier, number, "has an entry that does not lie in it");
	}
	for (size_t i = 0; i < count && !err && !is_leaf; i++) {
		struct node_header node = {0};

		pages_find_node(pages, page, i, &node);
		err = verify_page(verifier, branch, node_child(&node), level + 1);
	}
	for (size_t i = 0; i < count && !err && is_leaf; i++)
		err = verify_entry(verifier, branch, number, page, i);
	branch->entries += is_leaf ? count : 0;
	return err;
}

static int
verify_tree(struct verifier *verifier, enum tree_kind kind, const struct tree_record *record)
{
	struct verify_tree branch = {.kind = kind, .depth = record->depth};
	uint8_t *inside = verifier->inside;
	int err;

	if (record->flags & TREE_STRANGE || (kind == KIND_FREE) != !!(record->flags & TREE_INTEGER_KEYS) ||
	    record->depth >= DEPTH_MAX / 2 || (record->root == NO_PAGE) != (record->depth == 0)) {
		snprintf(verifier->why, verifier->why_size, "a table is of a kind that is not known here");
		return -DCPI_EDAMAGED;
	}
	if (record->root == NO_PAGE)
		return 0;
	verifier->inside = malloc(PAGE_MAX / 2);
	err = verifier->inside ? verify_page(verifier, &branch, record->root, 0) : -ENOMEM;
	free(verifier->inside);
	verifier->inside = inside;
	if (!err && branch.entries != record->entries)
		err = refuse(verifier, record->root, "is the root of a table that has fewer entries, or more");
	return err;
}

static int
verify_metas(struct verifier *verifier, struct meta_record *newest)
{
	struct pages *pages = verifier->pages;
	struct meta_record metas[2];

	for (uint64_t number = 0; number < 2; number++) {
		struct page_header header;

		/* pages_open() returned 0, so `pages` is set; the analyzer assumes fstat() can fail with errno 0. */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		if (!pages_read_meta(pages->fd, number * pages->page_size, &metas[number]) ||
		    !pages_read_at(pages->fd, &header, sizeof(header), number * pages->page_size) ||
		    header.flags != PAGE_META || metas[number].free.pad != pages->page_size)
			return refuse(verifier, number, "does not say what an LMDB file is");
		if (metas[number].last_page < 1 || metas[number].last_page >= pages->count)
			return refuse(verifier, number, "says that there are more pages than there are");
	}
	*newest = metas[metas[1].transaction > metas[0].transaction];
	return 0;
}

int
pages_verify(int fd, char *why, size_t size)
{
	struct verifier verifier = {.why = why, .why_size = size};
	struct meta_record meta;
	int err;

	why[0] = '\0';
	err = pages_open(fd, &verifier.pages);
	if (err)
		return err;
	err = verify_metas(&verifier, &meta);
	if (!err) {
		verifier.end = meta.last_page + 1;
		err = verify_tree(&verifier, KIND_FREE, &meta.free);
	}
	if (!err)
		err = verify_tree(&verifier, KIND_MAIN, &meta.main);
	pages_free(verifier.pages);
	return err;
}
