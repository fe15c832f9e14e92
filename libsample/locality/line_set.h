/*
 * line_set.h - which lines of 64 bytes are referred to, by each of many owners, in bounded memory
 *
 * A loop's or an instruction's footprint is the number of lines that it refers to. The set is exact while it has room.
 * When it is full, lines are sampled by their hash (Waldspurger et al., "Efficient MRC Construction with SHARDS",
 * FAST'15): half of those that were kept are dropped, and as many of those that come later. An owner that keeps k lines
 * after that has k << halvings, with a relative standard error of about 1 / sqrt(k).
 *
 * What is kept is memory of the caller's, which may be a mapped file: each key is valid as soon as `count` has it.
 *
 * Thread rule: one thread for a set.
 */
#ifndef DCPI_LOCALITY_LINE_SET_H
#define DCPI_LOCALITY_LINE_SET_H

#include <stddef.h>
#include <stdint.h>

#define LINE_SET_BYTES      64 /* of a line */
#define LINE_SET_LINE_BITS  42
#define LINE_SET_OWNERS_MAX (UINT32_C(1) << (64 - LINE_SET_LINE_BITS)) /* owners are below it */

struct line_keys {
	uint32_t count;
	uint32_t halvings;
	uint64_t keys[]; /* owner << LINE_SET_LINE_BITS | line; in the order in which they came */
};

struct line_set {
	struct line_keys *kept; /* borrowed */
	uint32_t room;          /* keys that `kept` has memory for */
	uint32_t *index;        /* keys by their hash, from 1; 0: none */
	uint32_t index_size;    /* a power of two, or 0 */
};

/* An empty set in `kept`, which has room for so many keys, at least 1024. */
void line_set_init(struct line_set *set, struct line_keys *kept, uint32_t room);
void line_set_fini(struct line_set *set); /* `kept` stays */

/* Like line_set_init(), but what is in `kept` stays in the set: it is zero, or another set's. */
void line_set_continue(struct line_set *set, struct line_keys *kept, uint32_t room);

/* Add the lines of an access of `bytes` at `address`. Where memory ends, fewer lines are sampled. */
void line_set_add(struct line_set *set, uint32_t owner, uint64_t address, uint32_t bytes);

/* What is left of `count` keys if there are so many halvings. Returns how many. */
uint32_t line_keys_sample(uint64_t *keys, uint32_t count, uint32_t halvings);

/*
 * How many lines each group of owners refers to: `groups` has the group of each owner, by number, below `group_count`,
 * or UINT32_MAX; owners from `owner_count` on have none. `keys` are those of one set, or of several that were brought
 * to equal halvings, and change. *lines is added to.
 */
void line_keys_count(uint64_t *keys, size_t count, uint32_t halvings, const uint32_t *groups, size_t owner_count,
                     size_t group_count, uint64_t *lines);

#endif
