#include "profile/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/lmdb_pages_internal.h"

#define FIRST_PAGE    2 /* behind the meta pages */
#define KEY_SIZE_MAX  511
#define PAGE_SIZE_MAX 65536

enum tree_flags {
	TREE_INTEGER_KEYS = 0x08, /* of the free pages' tree only */
	TREE_STRANGE = 0x77,      /* keys backwards, duplicates, mappings at fixed addresses */
};

enum tree_kind { KIND_FREE, KIND_MAIN, KIND_TABLE };

struct verifier {
	struct pages *pages;
	uint64_t end;    /* pages in use are below */
	uint8_t *inside; /* PAGE_SIZE_MAX / 2: halfwords of a page that are a node's */
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
	uint8_t *seen = verifier->pages->seen;

	if (number < FIRST_PAGE || number >= verifier->end || count > verifier->end - number)
		return false;
	for (uint64_t page = number; page < number + count; page++) {
		const uint8_t bit = (uint8_t)(1 << page % 8);

		if (seen[page / 8] & bit)
			return false;
		seen[page / 8] |= bit;
	}
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
	/* of branches first all nodes: the map of the page is the children's after that */
	memset(verifier->inside, 0, PAGE_SIZE_MAX / 2);
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
	int err = 0;

	if (record->flags & TREE_STRANGE || (kind == KIND_FREE) != !!(record->flags & TREE_INTEGER_KEYS) ||
	    record->depth >= DEPTH_MAX / 2 || (record->root == NO_PAGE) != (record->depth == 0)) {
		snprintf(verifier->why, verifier->why_size, "a table is of a kind that is not known here");
		return -DCPI_EDAMAGED;
	}
	if (record->root == NO_PAGE)
		return 0;
	verifier->inside = malloc(PAGE_SIZE_MAX / 2);
	if (!verifier->inside)
		err = -ENOMEM;
	if (!err)
		err = verify_page(verifier, &branch, record->root, 0);
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
profile_verify_file(int fd, char *why, size_t size)
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
