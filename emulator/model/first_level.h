/*
 * first_level.h - level 1 of data or code, or its TLB: what it has, and where the plain hits of it are
 *
 * As in cache.h, lines and pages are known by short numbers, and a set has 32 bits of each. What else is to be known of
 * a way is in its place (plain.h). In the order of LRU the way leaves whose stamp is the least; first in, first out and
 * at random a set knows its next one. Sets are a power of two.
 *
 * Thread rule: of one thread.
 */
#ifndef DCPI_EMULATOR_MODEL_FIRST_LEVEL_H
#define DCPI_EMULATOR_MODEL_FIRST_LEVEL_H

#include "emulator/model/plain.h"
#include "emulator/model/tags.h"
#include "machine/machine.h"

#define FIRST_LEVEL_RECENT 4 /* slots */

struct first_level {
	uint32_t *tags; /* of each set, `slots` */
	struct plain_place *places;
	struct plain_hits *plain; /* that they are part of */
	uint32_t set_mask;
	uint8_t set_shift;
	uint8_t unit;        /* 1, of pages PLAIN_PAGE_PLACES: of how many places one is */
	uint32_t entry_bits; /* of an address, those that lines with the same entry of the table have in common; 0: not
	                      * told */
	uint8_t usual_slots; /* in the order of LRU, when they are 4 or 8 and all are near (plain_place_to()); else 0 */
	bool is_ordered;     /* pages, one set, first in, first out, and near */
	bool is_recent;      /* pages, sets of FIRST_LEVEL_RECENT slots in the order of LRU, and near */
	enum machine_replacement replacement;
	uint32_t ways, slots; /* slots: ways, and some more in which nothing ever is */
	uint32_t *next;       /* of each set, unless LRU: the way that leaves next, or as long as there is room, comes
	                       * next; at random, the state of its generator */
	uint16_t first_at, last_at, next_at;       /* ordered, as a TLB: its places, and the one that leaves next */
	uint16_t hidden_at;                        /* the same: whose entry another page got last */
	uint64_t unsure_pages, unsure_pages_later; /* the same: bit n says that of pages n modulo 64 one was put anew;
	                                            * later: that it was since the first place was the next one */
};

/* What was found. */
struct first_found {
	struct plain_place *place; /* its key is still that of whom it was until now */
	uint32_t left;             /* with a miss: the tag of what made room */
	bool hit;
};

/* 0 or -ENOMEM. `model` has ways and bytes; of a TLB, a line has one byte. It has no places yet. */
int first_level_init(struct first_level *level, const struct machine_cache *model, unsigned line_bytes, uint64_t seed);

/* Nothing is modelled: all will be a plain hit. */
void first_level_init_plain(struct first_level *level);

void first_level_fini(struct first_level *level);

/*
 * Gives a level 1 and its TLB their places, in which nothing is. What is not modelled has no shift. They are in `room`,
 * when its bytes are enough; else they are the caller's, to be freed with free() after both. NULL: ENOMEM.
 */
struct plain_hits *first_level_join(struct first_level *lines, unsigned line_shift, struct first_level *pages,
                                    unsigned page_shift, struct plain_room room);

/* No line is known to be a plain hit. */
void first_level_forget(struct first_level *level);

/* Lines have other addresses than those that they came with, perhaps: an entry tells nothing of where others are. */
static inline void
first_level_doubt_entries(struct first_level *level)
{
	level->entry_bits = 0;
}

/* first_level_use() of whatever level; `stamp`: of this use. */
struct first_found first_level_use_any(struct first_level *level, uint64_t number, uint64_t stamp);

/* Ordered, or recent: whether it has a page that is no plain hit; afterwards it does, and it is one. */
bool first_level_use_ordered(struct first_level *level, uint64_t guest_page, uint64_t offset);
bool first_level_use_recent(struct first_level *level, uint64_t guest_page, uint64_t offset);

/* Whether it has the line; changes nothing. */
bool first_level_has(const struct first_level *level, uint64_t number);

/* The place, which is `at` in tables, is of a guest's line, or page, from now on; `offset`: as of struct plain_page. */
static inline void
first_level_put_line_at(struct first_level *level, struct plain_place *place, uint16_t at, uint64_t guest_line,
                        bool is_written)
{
	place->key = plain_line_key(guest_line) | is_written;
	level->plain->lines[guest_line % PLAIN_LINES] = at;
}

static inline void
first_level_put_page_at(struct first_level *level, struct plain_place *place, uint16_t at, uint64_t guest_page,
                        uint64_t offset)
{
	place->key = guest_page;
	plain_page_of(place)->offset = offset;
	level->plain->pages[guest_page % PLAIN_PAGES] = at;
}

/* Wherever it is. */
static inline void
first_level_put_line(struct first_level *level, struct plain_place *place, uint64_t guest_line, bool is_written)
{
	first_level_put_line_at(level, place, plain_place_to(level->plain, place), guest_line, is_written);
}

static inline void
first_level_put_page(struct first_level *level, struct plain_place *place, uint64_t guest_page, uint64_t offset)
{
	first_level_put_page_at(level, place, plain_place_to(level->plain, place), guest_page, offset);
}

/* Where slots are usual. */
static inline void
first_level_put_near_line(struct first_level *level, struct plain_place *place, uint64_t guest_line, bool is_written)
{
	first_level_put_line_at(level, place, plain_place_to_near(level->plain, place), guest_line, is_written);
}

static inline void
first_level_put_near_page(struct first_level *level, struct plain_place *place, uint64_t guest_page, uint64_t offset)
{
	first_level_put_page_at(level, place, plain_place_to_near(level->plain, place), guest_page, offset);
}

/* First in, first out: who makes room. */
static inline uint32_t
first_level_next(const struct first_level *level, uint32_t set)
{
	const uint32_t way = level->next[set];

	level->next[set] = way + 1 < level->ways ? way + 1 : 0;
	return way;
}

static inline __attribute__((always_inline)) struct first_found
first_level_use_usual(struct first_level *level, uint64_t number, uint64_t stamp, const unsigned slots)
{
	const uint32_t tag = (uint32_t)(number >> level->set_shift);
	const uint32_t set = (uint32_t)number & level->set_mask;
	uint32_t *tags = level->tags + (size_t)set * slots;
	struct plain_place *places = level->places + (size_t)set * slots;
	const uint32_t matches = tags_match(tags, tag, slots);
	struct first_found found = {.hit = matches != 0};
	uint32_t way;

	if (found.hit) {
		way = (uint32_t)__builtin_ctz(matches);
	} else {
		way = stamps_oldest(&places->stamp, slots, PLAIN_STRIDE);
		found.left = tags[way];
		tags[way] = tag;
	}
	found.place = places + way;
	found.place->stamp = stamp;
	return found;
}

/* A line is asked for: afterwards it is there. */
static inline __attribute__((always_inline)) struct first_found
first_level_use(struct first_level *level, uint64_t number, uint64_t stamp)
{
	if (level->usual_slots == 8)
		return first_level_use_usual(level, number, stamp, 8);
	if (level->usual_slots == 4)
		return first_level_use_usual(level, number, stamp, 4);
	return first_level_use_any(level, number, stamp);
}

/*
 * Ordered, or recent: whether a page that is no plain hit is known not to be there; `there` is where its entry points.
 * Pages that share an entry are of one set. In the order of LRU the one that has the entry was used last of them, as
 * who is hidden is used only by getting it back, and leaves last: when the place where the entry points has something
 * else, none of them is there any more.
 */
static inline __attribute__((always_inline)) bool
first_level_lacks_recent(const struct plain_place *there, uint64_t guest_page)
{
	return (there->key ^ guest_page) % PLAIN_PAGES;
}

/* The same of lines where slots are usual, and of `address`: a line that is no plain hit is known not to be there. */
static inline __attribute__((always_inline)) bool
first_level_lacks_line(const struct first_level *level, const struct plain_place *there, uint64_t address)
{
	return (uint32_t)(there->key ^ address) & level->entry_bits;
}

/*
 * First in, first out, the one that came last has the entry, and leaves last, unless one that was there got it back.
 * That one may leave before what came later, which is not known then until all have left that were there.
 */
static inline __attribute__((always_inline)) bool
first_level_lacks_ordered(const struct first_level *level, const struct plain_place *there, uint64_t guest_page)
{
	return first_level_lacks_recent(there, guest_page) && !(level->unsure_pages >> guest_page % 64 & 1);
}

/* The place that leaves next is the first one again: what was unsure before it was the last time has left. */
static inline void
first_level_begin_anew(struct first_level *level)
{
	level->next_at = level->first_at;
	level->unsure_pages = level->unsure_pages_later;
	level->unsure_pages_later = 0;
}

/* It comes in. Such pages are asked for by nothing else: they need no tags, their places say what is there. */
static inline __attribute__((always_inline)) void
first_level_bring_ordered(struct first_level *level, uint64_t guest_page, uint64_t offset)
{
	const uint16_t at = level->next_at;
	struct plain_page *there = plain_page_of(plain_place_at(level->plain, at));

	level->next_at = (uint16_t)(at + sizeof(struct plain_page));
	if (__builtin_expect(at == level->last_at, 0))
		first_level_begin_anew(level);
	first_level_put_page_at(level, &there->place, at, guest_page, offset);
}

static inline struct plain_place *
first_level_recent_set(const struct first_level *level, uint64_t guest_page)
{
	const size_t set = (uint32_t)guest_page & level->set_mask;

	return level->places + set * FIRST_LEVEL_RECENT * PLAIN_PAGE_PLACES;
}

static inline __attribute__((always_inline)) void
first_level_bring_recent(struct first_level *level, uint64_t guest_page, uint64_t offset)
{
	struct plain_place *places = first_level_recent_set(level, guest_page);
	const uint32_t way = stamps_oldest(&places->stamp, FIRST_LEVEL_RECENT, PLAIN_STRIDE * PLAIN_PAGE_PLACES);

	places += way * PLAIN_PAGE_PLACES;
	places->stamp = level->plain->use += PLAIN_USE;
	first_level_put_near_page(level, places, guest_page, offset);
}

/* The number of what left the set of `number`. */
static inline uint64_t
first_level_left(const struct first_level *level, uint64_t number, uint32_t left)
{
	return (uint64_t)left << level->set_shift | (number & level->set_mask);
}

#endif
