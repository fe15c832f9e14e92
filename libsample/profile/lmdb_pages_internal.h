/*
 * lmdb_pages_internal.h - the page format of LMDB 0.9, for lmdb_pages.c and verify.c
 */
#ifndef DCPI_PROFILE_LMDB_PAGES_INTERNAL_H
#define DCPI_PROFILE_LMDB_PAGES_INTERNAL_H

#include "profile/lmdb_pages.h"

#define DEPTH_MAX 32 /* LMDB's own cursors go no deeper */

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

/* Read from the file. False when not all of it could be read. */
bool pages_read_at(int fd, void *data, size_t size, uint64_t offset);

/* The meta page there; false when it is none. */
bool pages_read_meta(int fd, uint64_t offset, struct meta_record *meta);

/* A page's memory for this level of a walk; NULL: there is none. */
uint8_t *pages_level(struct pages *pages, size_t level);

/* Pointers to nodes: their number, or 0 when the header makes no sense for a branch or leaf page. */
size_t pages_node_count(const struct pages *pages, const uint8_t *page, uint64_t number, unsigned kind);

/* Node `index`, whose header and key lie inside the page: where its data begin, or 0. */
size_t pages_find_node(const struct pages *pages, const uint8_t *page, size_t index, struct node_header *node);

/* Size of a value, or the lower bits of a child's page number: where the two halves lie depends on the machine. */
static inline uint32_t
node_number(const struct node_header *node)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? node->low | (uint32_t)node->high << 16
	                                                 : node->high | (uint32_t)node->low << 16;
}

static inline uint64_t
node_child(const struct node_header *node)
{
	return node_number(node) | (uint64_t)node->flags << 32;
}

#endif
