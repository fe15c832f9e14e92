/*
 * lmdb_pages_internal.h - what the files of lmdb_pages.h share: pages as LMDB 0.9 writes them
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

#endif
