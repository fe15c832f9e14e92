/*
 * lmdb_pages.h - the pages of an LMDB file, without LMDB and without trust
 *
 * LMDB maps its file and trusts it: on a damaged one it may fault or loop for ever. This code reads page by page with
 * pread(2), checks every number, visits each page at most once a walk, and counts damaged pages. It reads the format of
 * LMDB 0.9 (data version 1) on a 64-bit machine of this byte order, as far as a profile needs it: meta, branch, leaf
 * and overflow pages; no duplicate keys. Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_LMDB_PAGES_H
#define DCPI_PROFILE_LMDB_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the format, for the code of this header and for tests that write damaged pages ---- */

enum page_flags {
	PAGE_BRANCH = 0x01,
	PAGE_LEAF = 0x02,
	PAGE_OVERFLOW = 0x04,
	PAGE_META = 0x08,
	PAGE_DIRTY = 0x10, /* only means something in memory */
};

struct page_header {
	uint64_t number;
	uint16_t pad;
	uint16_t flags;
	union {
		struct {
			uint16_t lower, upper; /* of the room between the pointers and the nodes */
		};
		uint32_t overflow_pages;
	};
};
_Static_assert(sizeof(struct page_header) == 16, "as LMDB writes it");

struct tree_record {
	uint32_t pad; /* the page size, in the first tree of a meta page */
	uint16_t flags;
	uint16_t depth;
	uint64_t branch_pages, leaf_pages, overflow_pages;
	uint64_t entries;
	uint64_t root;
};
_Static_assert(sizeof(struct tree_record) == 48, "as LMDB writes it");

struct meta_record {
	uint32_t magic, version;
	uint64_t address, map_size;
	struct tree_record free, main;
	uint64_t last_page;
	uint64_t transaction;
};

enum node_flags {
	NODE_OVERFLOW = 0x01, /* the value is the number of the page where it begins */
	NODE_TREE = 0x02,
};

struct node_header {
	uint16_t low, high; /* of the value's size; of a child's page number, with flags above them */
	uint16_t flags;
	uint16_t key_size;
};
_Static_assert(sizeof(struct node_header) == 8, "as LMDB writes it");

#define NO_PAGE UINT64_MAX /* the root of an empty tree */

/* ---- reading what a damaged file still has (for profile/ and salvage/) ---- */

#define PAGES_VALUE_MAX (64u << 20) /* bytes; a larger value is taken for damage */

struct pages;

/* A tree of entries: LMDB's main one, or a table. */
struct pages_tree {
	uint64_t root;
	uint64_t entries; /* as the file says */
};

struct pages_meta {
	uint64_t transaction;
	struct pages_tree main;
	uint64_t last_page, map_size; /* as the file says */
};

/*
 * Read `fd` (borrowed, a regular file). 0 with *pages, which the caller frees; -EFBIG past 2^28 pages; -ENOMEM, -errno.
 * A file of any content is fine.
 */
int pages_open(int fd, struct pages **pages);
void pages_free(struct pages *pages); /* NULL is allowed */

uint64_t pages_count(const struct pages *pages);

/* The meta pages that can be read, the newest first: how many, 0 to 2. */
size_t pages_metas(struct pages *pages, struct pages_meta metas[2]);

/* The number of the transaction that was committed last, by the two meta pages. False: unreadable. Async-signal-safe.
 */
bool pages_newest(int fd, size_t page_size, uint64_t *transaction);

struct pages_leaf;

struct pages_entry {
	const uint8_t *key, *value; /* valid until the next entry is asked for, or the visit ends */
	size_t key_size, size;
	bool is_tree; /* the value describes a table: pages_entry_tree() */
};

size_t pages_leaf_count(const struct pages_leaf *leaf);

/* Entry `index`: 0; -DCPI_EDAMAGED when it, or the overflow pages of its value, are damaged; -ENOMEM. */
int pages_leaf_entry(const struct pages_leaf *leaf, size_t index, struct pages_entry *entry);

/* 0, or -DCPI_EDAMAGED when it is no table. */
int pages_entry_tree(const struct pages_entry *entry, struct pages_tree *tree);

/* 0, or an error that ends the walk. */
typedef int pages_visit(void *context, const struct pages_leaf *leaf);

/* Forget which pages were visited. */
void pages_begin(struct pages *pages);

/*
 * Visit each leaf below tree->root, in key order. Adds to *damaged the pages that are damaged, or were visited before.
 * 0, or the visitor's error.
 */
int pages_walk(struct pages *pages, const struct pages_tree *tree, pages_visit *visit, void *context,
               uint64_t *damaged);

/* Visit each page that looks like a leaf, of any tree and version, and was not visited before. */
int pages_scan(struct pages *pages, pages_visit *visit, void *context);

/* ---- is a foreign file safe to be opened by LMDB? ---- */

#define PAGES_WHY_SIZE 96

/*
 * A crafted file could make LMDB read, and a writer write, outside of pages. So the structure is verified first: both
 * meta pages, and of the newest version each tree with all pages, nodes and values, and the list of free pages. Each
 * page must have exactly one use, and what LMDB 0.9 would not write is refused. The content of values is not verified:
 * the decoders of the tables do not trust it.
 *
 * Read `fd`, a regular file that no process writes. 0; -DCPI_EDAMAGED with what is wrong in `why`; -EFBIG past 2^28
 * pages; -ENOMEM, -errno.
 */
int pages_verify(int fd, char *why, size_t size);

#endif
