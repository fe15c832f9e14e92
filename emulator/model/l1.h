/*
 * l1.h - level 1 of data or of code, its TLB, and the TLB behind that
 *
 * As in cache.h, lines and pages are identified by short numbers, of which a set has 32 bits each. The entry of a way
 * in the filter (hit_filter.h) has the guest's address of its line or page, and the stamp of the last use. With LRU the
 * victim is the way with the least stamp; with FIFO and random replacement each set stores its next victim. The number
 * of sets is a power of two.
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_L1_H
#define DCPI_EMULATOR_MODEL_L1_H

#include "emulator/model/hit_filter.h"
#include "emulator/model/lru.h"
#include "machine/machine.h"

/* All zero: nothing is modelled, and every access hits. */
struct l1 {
	uint32_t *tags;               /* of each set, `slots` */
	struct filter_entry *entries; /* one for each tag */
	struct hit_filter *filter;    /* that contains the entries */
	uint32_t set_mask;
	uint8_t set_shift;
	uint8_t lru_slots; /* slots, if replacement is LRU and they are 4 or 8; else 0 */
	enum machine_replacement replacement;
	uint32_t ways, slots; /* slots: the ways, and some that are always empty */
	uint32_t *next;       /* of each set, unless LRU: the way that leaves next, or as long as there is room, comes
	                       * next; at random, the state of its generator */
};

/* What was found. */
struct l1_found {
	struct filter_entry *entry; /* its key is still that of the line or page before */
	uint32_t victim_tag;        /* on a miss: the tag of the line or page that was evicted */
	bool hit;
};

/* 0 or -ENOMEM. `model` has ways and bytes; for a TLB, a line has one byte. The entries are made by l1_join(). */
int l1_init(struct l1 *level, const struct machine_cache *model, unsigned line_bytes, uint64_t seed);

void l1_fini(struct l1 *level);

/*
 * Make the filter of a level 1 and its TLB, which knows no line and no page. It is in `room`, if that is large enough;
 * else in memory that the caller frees with free() after both. NULL: ENOMEM.
 */
struct hit_filter *l1_join(struct l1 *lines, unsigned line_shift, struct l1 *pages, unsigned page_shift,
                           struct filter_room room);

/*
 * Move the filter, with its contents, to `room` or other memory as in l1_join(). The caller frees the old memory. NULL:
 * ENOMEM, and nothing has changed.
 */
struct hit_filter *l1_move_filter(struct l1 *lines, struct l1 *pages, struct filter_room room);

/* Call `function` for each line that the level has. */
void l1_each(const struct l1 *level, void (*function)(void *context, uint64_t number), void *context);

/* Remove all lines of this level from the filter. */
void l1_forget(struct l1 *level);

/* Look a line or page up, and fill it on a miss. `stamp`: of this use. */
struct l1_found l1_use_any(struct l1 *level, uint64_t number, uint64_t stamp);

/* The entry of the line, if the level has it; changes nothing. NULL: it does not have it. */
struct filter_entry *l1_find(const struct l1 *level, uint64_t number);

/* Remove the line, which has this entry: its way is the next to be filled, unless victims go in turn (FIFO). */
void l1_remove(struct l1 *level, struct filter_entry *entry);

/* Whether the level has the line; changes nothing. */
bool l1_has(const struct l1 *level, uint64_t number);

/* Set the entry to a guest's line, or page. */
static inline void
l1_put_line(struct l1 *level, struct filter_entry *entry, uint64_t guest_line, bool is_written)
{
	entry->key = filter_line_key(guest_line) | is_written;
	level->filter->lines[guest_line % FILTER_LINES] = filter_entry_to(level->filter, entry);
}

static inline void
l1_put_page(struct l1 *level, struct filter_entry *entry, uint64_t guest_page)
{
	entry->key = guest_page;
	level->filter->pages[guest_page % FILTER_PAGES] = filter_entry_to(level->filter, entry);
}

static inline __attribute__((always_inline)) struct l1_found
l1_use_lru(struct l1 *level, uint64_t number, uint64_t stamp, const unsigned slots)
{
	const uint32_t tag = (uint32_t)(number >> level->set_shift);
	const uint32_t set = (uint32_t)number & level->set_mask;
	uint32_t *tags = level->tags + (size_t)set * slots;
	struct filter_entry *entries = level->entries + (size_t)set * slots;
	const uint32_t matches = tags_match(tags, tag, slots);
	struct l1_found found = {.hit = matches != 0};
	uint32_t way;

	if (found.hit) {
		way = (uint32_t)__builtin_ctz(matches);
	} else {
		way = lru_oldest_stamp(&entries->stamp, slots, FILTER_STRIDE);
		found.victim_tag = tags[way];
		tags[way] = tag;
	}
	found.entry = entries + way;
	found.entry->stamp = stamp;
	return found;
}

/* l1_use_any(), with fewer steps for LRU and 4 or 8 slots. */
static inline __attribute__((always_inline)) struct l1_found
l1_use(struct l1 *level, uint64_t number, uint64_t stamp)
{
	if (level->lru_slots == 8)
		return l1_use_lru(level, number, stamp, 8);
	if (level->lru_slots == 4)
		return l1_use_lru(level, number, stamp, 4);
	return l1_use_any(level, number, stamp);
}

/* The number of the evicted line, which was in the set of `number`. */
static inline uint64_t
l1_victim_line(const struct l1 *level, uint64_t number, uint32_t victim_tag)
{
	return (uint64_t)victim_tag << level->set_shift | (number & level->set_mask);
}

/*
 * ---- TLBs ----
 *
 * A TLB is a cache of pages: a cache whose lines have one byte. With up to 32 ways, in eight sets or more, its
 * replacement is LRU. Otherwise, e.g. if it is fully associative, it is FIFO.
 */
struct machine_cache tlb_as_cache(const struct machine_tlb *model);

/* A second-level TLB: the pages whose translations it has. */
struct tlb {
	struct l1 pages;
	struct hit_filter *filter; /* of `pages`, needed for their entries */
};

/* 0 or -ENOMEM. `model` has entries, in a number of sets that is a power of two. */
int tlb_init(struct tlb *tlb, const struct machine_tlb *model);
void tlb_fini(struct tlb *tlb);

/* Whether the TLB has the page with this number; afterwards it has. */
static inline bool
tlb_access(struct tlb *tlb, uint32_t page)
{
	return l1_use(&tlb->pages, page, tlb->filter->use += FILTER_USE).hit;
}

#endif
