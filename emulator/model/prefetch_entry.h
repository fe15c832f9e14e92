/*
 * prefetch_entry.h - what a prefetcher knows of each stream, or instruction
 *
 * Inner header of emulator/model: for prefetch.c, and for who goes straight on with the usual prefetchers.
 * Thread rule: prefetch.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_PREFETCH_ENTRY_H
#define DCPI_EMULATOR_MODEL_PREFETCH_ENTRY_H

#include "emulator/model/order.h"
#include "emulator/model/prefetch.h"
#include "emulator/model/tags.h"

#define PREFETCH_WAYS ORDER_WAYS

/* A line of the host's cache. */
struct prefetch_entry {
	uint64_t key;  /* page, or instruction */
	uint64_t last; /* where it was last */
	struct prefetch_course course;
	uint64_t *order;      /* of its set, */
	struct order_use use; /* and what a use makes of it */
	uint64_t unused;
};

struct prefetch_set {
	uint32_t tags[PREFETCH_WAYS]; /* of each the lower half of its key */
	uint64_t order;
	uint64_t unused[3];
	struct prefetch_entry entries[PREFETCH_WAYS];
};

static inline struct prefetch_set *
prefetch_set_of(const struct prefetcher *prefetcher, uint64_t key)
{
	return &prefetcher->sets[(uint32_t)key & prefetcher->set_mask];
}

/* The entry that may be the key's: it is, if it has it. */
static inline __attribute__((always_inline)) struct prefetch_entry *
prefetch_recent(const struct prefetcher *prefetcher, uint64_t key)
{
	return prefetcher->recent[key % PREFETCH_RECENT];
}

/* The key's, if the set has one; else NULL. */
static inline __attribute__((always_inline)) struct prefetch_entry *
prefetch_find(struct prefetch_set *set, uint64_t key)
{
	for (uint32_t left = tags_match(set->tags, (uint32_t)key, PREFETCH_WAYS); left; left &= left - 1) {
		struct prefetch_entry *entry = &set->entries[__builtin_ctz(left)];

		if (entry->key == key)
			return entry;
	}
	return NULL;
}

static inline __attribute__((always_inline)) void
prefetch_use_in(uint64_t *order, const struct prefetch_entry *entry)
{
	*order = (*order | entry->use.row) & entry->use.others;
}

static inline __attribute__((always_inline)) void
prefetch_use(struct prefetch_entry *entry)
{
	prefetch_use_in(entry->order, entry);
}

/* Who was not needed for the longest time makes room for the key, which begins at `at`; it is used. */
static inline __attribute__((always_inline)) struct prefetch_entry *
prefetch_replace(const struct prefetcher *prefetcher, struct prefetch_set *set, uint64_t key, uint64_t at)
{
	const size_t way = order_oldest(set->order, prefetcher->present);
	struct prefetch_entry *entry = &set->entries[way];

	prefetch_use_in(&set->order, entry);
	set->tags[way] = (uint32_t)key;
	entry->key = key;
	entry->last = at;
	entry->course = prefetcher->begun;
	return entry;
}

/* An instruction goes to `at`, and nothing is wanted for that. False: something may be, and nothing was done. */
static inline __attribute__((always_inline)) bool
prefetch_step(const struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at)
{
	const uint64_t moved = at - entry->last;

	if (entry->course.step != moved && moved) {
		entry->course.step = moved;
		entry->course.ahead = 0;
	} else if (moved + prefetcher->page_mask <= 2 * prefetcher->page_mask && moved) {
		return false;
	}
	entry->last = at;
	prefetch_use(entry);
	return true;
}

/* The same goes to `at` once more as far: how many lines are wanted; prefetcher_watch(). */
unsigned prefetch_follow_stride(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at);

/* How far it is to the end of the page; `down`: all bits, if it goes down. */
static inline uint64_t
prefetch_left_in_page(const struct prefetcher *prefetcher, uint64_t at, uint64_t down)
{
	return (at ^ ~down) & prefetcher->page_mask;
}

/* What is left of `ahead` behind `apart` of it. */
static inline uint32_t
prefetch_left_ahead(uint32_t ahead, uint64_t apart)
{
	return (ahead - (uint32_t)apart) & -(uint32_t)(ahead > apart);
}

/* Lines from `ahead` on, at most `degree` of them, in the page and in reach. */
static inline __attribute__((always_inline)) unsigned
prefetch_ask_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint32_t ahead)
{
	const uint64_t step = entry->course.step, in_page = prefetch_left_in_page(prefetcher, at, -(step >> 63));
	const uint64_t reach = prefetcher->model.distance, most = in_page < reach ? in_page : reach;
	const uint64_t left = most > ahead ? most - ahead : 0;
	const unsigned count = left < prefetcher->degree ? (unsigned)left : prefetcher->degree;

	prefetcher->place = at + step * (ahead + UINT64_C(1));
	prefetcher->apart = step;
	entry->course.ahead = ahead + count;
	return count;
}

/* It does not go on as it did: perhaps the other way. */
static inline __attribute__((always_inline)) void
prefetch_turn_stream(const struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t moved)
{
	const uint64_t down = -(moved >> 63), apart = (moved ^ down) - down;

	const uint64_t step = apart <= entry->course.most ? down | 1 : 0;

	entry->course = prefetcher->begun;
	entry->course.step = step;
}

/*
 * A stream goes by `moved`, not 0, to line `at`: how many lines are wanted. Whether it goes on, turns or begins anew
 * nobody can foresee: the host has one branch for it.
 */
static inline __attribute__((always_inline)) unsigned
prefetch_follow_stream(struct prefetcher *prefetcher, struct prefetch_entry *entry, uint64_t at, uint64_t moved)
{
	const uint64_t apart =
		moved * entry->course.step; /* in its direction; against it, or without one, it is no stream */

	entry->last = at;
	if (apart - 1 >= entry->course.most) {
		prefetch_turn_stream(prefetcher, entry, moved);
		return 0;
	}
	entry->course.most = prefetcher->model.distance;
	return prefetch_ask_stream(prefetcher, entry, at, prefetch_left_ahead(entry->course.ahead, apart));
}

#endif
