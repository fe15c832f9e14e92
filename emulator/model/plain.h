/*
 * plain.h - accesses that are known to hit level 1 and its TLB, and how they are done
 *
 * Each way of level 1, and of its TLB, has a place: whose line or page is in it, by the guest's address, and when it
 * was used last. A table of several entries for each says where the place of a line may be; who replaces what is in a
 * place needs not look for who points there. A plain hit - what the place has is what was asked for, and for a store it
 * was written since it came - changes nothing but when it was used.
 *
 * All is one piece of memory, so that who asks needs to know where it is and nothing else: first_level_join().
 *
 * Thread rule: of the thread that runs on the core.
 */
#ifndef DCPI_EMULATOR_MODEL_PLAIN_H
#define DCPI_EMULATOR_MODEL_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAIN_WRITTEN    1u               /* of a line's key */
#define PLAIN_NOTHING    (UINT64_MAX - 1) /* keys of no line and no page: nobody knows what is there */
#define PLAIN_PREFETCHED (UINT64_MAX - 3) /* nobody asked for what is there */

#define PLAIN_LINE_SHIFT 6 /* of a line's number in its key: lines of the usual size have their address there */

/* Stamps are compared as floating point numbers, with the numbers of ways in their lower bits: tags.h. */
#define PLAIN_USE       32
#define PLAIN_FIRST_USE (UINT64_C(1) << 52)

#define PLAIN_LINES   4096 /* entries of the tables: eight for each of the usual 512 lines, few then share one; */
#define PLAIN_PAGES   1024 /* larger ones would not stay in the host's first level */
#define PLAIN_NOWHERE 0    /* an entry of them: of nothing */

struct plain_place {
	uint64_t key;   /* of a line plain_line_key(), in the guest, and PLAIN_WRITTEN; of a page its number */
	uint64_t stamp; /* of its last use */
};

/* A page's. */
struct plain_page {
	struct plain_place place;
	uint64_t offset; /* of what its addresses are known by (page_map.h) from them */
	uint64_t unused;
};

#define PLAIN_STRIDE      (sizeof(struct plain_place) / sizeof(uint64_t)) /* words from stamp to stamp */
#define PLAIN_PAGE_PLACES (sizeof(struct plain_page) / sizeof(struct plain_place))

/* What is not modelled always is a plain hit: its shift is 63, so that its number is 0. */
struct plain_hits {
	struct plain_page nowhere; /* has nothing */
	struct plain_place a_line; /* where lines are not modelled, or pages */
	struct plain_page a_page;
	uint64_t use;                   /* the last stamp */
	uint8_t line_shift, page_shift; /* of an address, for its number */
	uint16_t lines[PLAIN_LINES];    /* by the lower bits of a number: plain_place_at() */
	uint16_t pages[PLAIN_PAGES];
	struct plain_place places[] __attribute__((aligned(64))); /* so that sets are on few lines of the host */
};

/* Where plain hits can be: aligned as they are. */
struct plain_room {
	void *at;
	size_t bytes;
};

#define PLAIN_NO_ROOM ((struct plain_room){.at = NULL})

/* Where a place is, in bytes from the beginning of all. Of one that is too far up it is not known. */
static inline uint16_t
plain_place_to(const struct plain_hits *plain, const struct plain_place *place)
{
	const ptrdiff_t at = (const char *)place - (const char *)plain;

	return at <= UINT16_MAX ? (uint16_t)at : PLAIN_NOWHERE;
}

/* Of one that is not. */
static inline uint16_t
plain_place_to_near(const struct plain_hits *plain, const struct plain_place *place)
{
	return (uint16_t)((const char *)place - (const char *)plain);
}

static inline __attribute__((always_inline)) struct plain_place *
plain_place_at(struct plain_hits *plain, uint16_t at)
{
	return (struct plain_place *)(void *)((char *)plain + at);
}

/* Where the line, or page, is when it is a plain hit: for plain_place_at(). */
static inline __attribute__((always_inline)) uint16_t
plain_line_at(const struct plain_hits *plain, uint64_t line)
{
	return plain->lines[line % PLAIN_LINES];
}

static inline __attribute__((always_inline)) uint16_t
plain_page_at(const struct plain_hits *plain, uint64_t page)
{
	return plain->pages[page % PLAIN_PAGES];
}

static inline __attribute__((always_inline)) struct plain_place *
plain_line(struct plain_hits *plain, uint64_t line)
{
	return plain_place_at(plain, plain_line_at(plain, line));
}

static inline __attribute__((always_inline)) struct plain_place *
plain_page(struct plain_hits *plain, uint64_t page)
{
	return plain_place_at(plain, plain_page_at(plain, page));
}

static inline uint64_t
plain_line_key(uint64_t line)
{
	return line << PLAIN_LINE_SHIFT;
}

/* Of a page's place. */
static inline struct plain_page *
plain_page_of(struct plain_place *place)
{
	return (struct plain_page *)(void *)place;
}

/* It is not what is in the place, or must have been written and was not. */
static inline __attribute__((always_inline)) bool
plain_line_differs(const struct plain_place *place, uint64_t line, bool writes)
{
	const uint64_t difference = place->key ^ plain_line_key(line);

	return writes ? difference != PLAIN_WRITTEN : difference > PLAIN_WRITTEN;
}

/* The same of a byte's address, where lines are of the usual size. */
static inline __attribute__((always_inline)) bool
plain_byte_differs(const struct plain_place *place, uint64_t address, bool writes)
{
	const uint64_t within = (UINT64_C(1) << PLAIN_LINE_SHIFT) - 1;

	return writes ? place->key != ((address | within) ^ within ^ PLAIN_WRITTEN) : (place->key ^ address) > within;
}

static inline __attribute__((always_inline)) bool
plain_page_differs(const struct plain_place *place, uint64_t page)
{
	return place->key != page;
}

/* The line alone, or the page: whether it is a plain hit - a store need not have been before -, which is then used. */
static inline __attribute__((always_inline)) bool
plain_use_line(struct plain_hits *plain, uint64_t line, bool writes)
{
	struct plain_place *place = plain_line(plain, line);

	if (plain_line_differs(place, line, false))
		return false;
	if (writes)
		place->key |= PLAIN_WRITTEN;
	place->stamp = plain->use += PLAIN_USE;
	return true;
}

static inline __attribute__((always_inline)) bool
plain_use_page(struct plain_hits *plain, uint64_t page)
{
	struct plain_place *place = plain_page(plain, page);

	if (plain_page_differs(place, page))
		return false;
	place->stamp = plain->use += PLAIN_USE;
	return true;
}

/* Of one page: whether it and the line are plain hits, which are then used; a store's must have been written. */
static inline __attribute__((always_inline)) bool
plain_hits_use_one(struct plain_hits *plain, bool writes, uint64_t line, uint64_t page)
{
	struct plain_place *place = plain_line(plain, line), *there = plain_page(plain, page);
	uint64_t use;

	if (__builtin_expect(plain_line_differs(place, line, writes) || plain_page_differs(there, page), 0))
		return false;
	use = plain->use += PLAIN_USE;
	place->stamp = use;
	there->stamp = use;
	return true;
}

/* The same of the line with `address`. */
static inline bool
plain_hits_use_address(struct plain_hits *plain, bool writes, uint64_t address)
{
	return plain_hits_use_one(plain, writes, address >> plain->line_shift, address >> plain->page_shift);
}

/*
 * Code, from `first` to before `end`: the lines of its page, as far as they are plain hits, are used one by one. Where
 * the next one begins; `first`: none was.
 */
static inline uint64_t
plain_code_use_lines(struct plain_hits *plain, uint64_t first, uint64_t end)
{
	const uint64_t page = first >> plain->page_shift, page_end = (page + 1) << plain->page_shift;
	const uint64_t stop = end < page_end ? end : page_end, last = (stop - 1) >> plain->line_shift;
	struct plain_place *there = plain_page(plain, page), *place;
	uint64_t line = first >> plain->line_shift, use = plain->use;

	if (plain_page_differs(there, page))
		return first;
	for (; line <= last; line++) {
		place = plain_line(plain, line);
		if (plain_line_differs(place, line, false))
			break;
		place->stamp = use += PLAIN_USE;
	}
	if (use == plain->use)
		return first;
	plain->use = there->stamp = use;
	return line > last ? stop : line << plain->line_shift;
}

#endif
