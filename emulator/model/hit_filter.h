/*
 * hit_filter.h - accesses that are known to hit level 1 and its TLB, asked for at each access and each block
 *
 * Each way of level 1, and of its TLB, has an entry: the line or page that is in it, by the guest's address, and when
 * it was used last. Two tables, one of lines and one of pages, say where the entry of an address may be; an entry that
 * changes needs no search for the places of the tables that lead to it, as they are compared with its key.
 *
 * An access hits when the entry has its line, the other one its page, and for a store the line was written since it
 * came. Such an access changes nothing in the caches but the stamps of its entries, which are their order of LRU: to
 * end there is exact. Of code the keys are known before: the tables are asked by index and key.
 *
 * All is one piece of memory, so that its address is all that a callback needs: l1_join().
 *
 * Thread rule: of the thread that runs on the core.
 */
#ifndef DCPI_EMULATOR_MODEL_HIT_FILTER_H
#define DCPI_EMULATOR_MODEL_HIT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_WRITTEN    1u               /* of a line's key */
#define FILTER_NOTHING    (UINT64_MAX - 1) /* a key of no line and no page: what is there is not known */
#define FILTER_PREFETCHED (UINT64_MAX - 3) /* a line that was prefetched, and not asked for since */
#define FILTER_LINE_SHIFT 6                /* of a line's number in its key: a line of 64 bytes has its address there */

/* Stamps are compared as floating point numbers, with the numbers of ways in their lower bits: lru.h. */
#define FILTER_USE       32
#define FILTER_FIRST_USE (UINT64_C(1) << 52)

#define FILTER_LINES   4096 /* places of the tables: eight for each of 512 lines, few then share one; */
#define FILTER_PAGES   1024 /* larger tables would not stay in the host's first level */
#define FILTER_NOWHERE 0    /* a place that leads to no entry */

#define FILTER_INLINE static inline __attribute__((always_inline))

struct filter_entry {
	uint64_t key;   /* of a line filter_line_key(), in the guest, and FILTER_WRITTEN; of a page its number */
	uint64_t stamp; /* of its last use */
};

#define FILTER_STRIDE (sizeof(struct filter_entry) / sizeof(uint64_t)) /* words from stamp to stamp */

/* Lines or pages that are not modelled always hit: their shift is 63, so that their number is 0. */
struct hit_filter {
	struct filter_entry nowhere;    /* has nothing */
	struct filter_entry a_line;     /* where lines are not modelled, */
	struct filter_entry a_page;     /* or pages */
	uint64_t use;                   /* the last stamp */
	uint8_t line_shift, page_shift; /* of an address, for its number */
	uint16_t lines[FILTER_LINES];   /* by the lower bits of a number: filter_entry_at() */
	uint16_t pages[FILTER_PAGES];
	struct filter_entry entries[] __attribute__((aligned(64))); /* so that sets are on few lines of the host */
};

/* Where a filter can be: aligned as it is. */
struct filter_room {
	void *at;
	size_t bytes;
};

#define FILTER_NO_ROOM ((struct filter_room){.at = NULL})

/* Let a filter in zeroed memory know of nothing. */
static inline void
hit_filter_clear(struct hit_filter *filter)
{
	filter->nowhere.key = FILTER_NOTHING;
}

/* Where an entry is, in bytes from the beginning of all. One that is too far up is not found. */
static inline uint16_t
filter_entry_to(const struct hit_filter *filter, const struct filter_entry *entry)
{
	const ptrdiff_t at = (const char *)entry - (const char *)filter;

	return at <= UINT16_MAX ? (uint16_t)at : FILTER_NOWHERE;
}

FILTER_INLINE struct filter_entry *
filter_entry_at(struct hit_filter *filter, uint16_t at)
{
	return (struct filter_entry *)(void *)((char *)filter + at);
}

/* The entry of the line, or page, if it hits. */
FILTER_INLINE struct filter_entry *
filter_line(struct hit_filter *filter, uint64_t line)
{
	return filter_entry_at(filter, filter->lines[line % FILTER_LINES]);
}

FILTER_INLINE struct filter_entry *
filter_page(struct hit_filter *filter, uint64_t page)
{
	return filter_entry_at(filter, filter->pages[page % FILTER_PAGES]);
}

static inline uint64_t
filter_line_key(uint64_t line)
{
	return line << FILTER_LINE_SHIFT;
}

/* The entry has another line, or, with `writes`, one that was not written. */
FILTER_INLINE bool
filter_line_differs(const struct filter_entry *entry, uint64_t line, bool writes)
{
	const uint64_t difference = entry->key ^ filter_line_key(line);

	return writes ? difference != FILTER_WRITTEN : difference > FILTER_WRITTEN;
}

/* The same asked by the address of a byte, where lines have 64 bytes. */
FILTER_INLINE bool
filter_byte_differs(const struct filter_entry *entry, uint64_t address, bool writes)
{
	const uint64_t within = (UINT64_C(1) << FILTER_LINE_SHIFT) - 1;

	return writes ? entry->key != ((address | within) ^ within ^ FILTER_WRITTEN) : (entry->key ^ address) > within;
}

/* ---- lines and pages of any size ---- */

/* Whether the line alone hits, written or not; it is used, and with `writes` written. Whether the page does; it is
 * used. */
FILTER_INLINE bool
filter_use_line(struct hit_filter *filter, uint64_t line, bool writes)
{
	struct filter_entry *entry = filter_line(filter, line);

	if (filter_line_differs(entry, line, false))
		return false;
	if (writes)
		entry->key |= FILTER_WRITTEN;
	entry->stamp = filter->use += FILTER_USE;
	return true;
}

FILTER_INLINE bool
filter_use_page(struct hit_filter *filter, uint64_t page)
{
	struct filter_entry *entry = filter_page(filter, page);

	if (entry->key != page)
		return false;
	entry->stamp = filter->use += FILTER_USE;
	return true;
}

/* Whether an access to the line and the page hits; both are used then. */
FILTER_INLINE bool
filter_use(struct hit_filter *filter, bool writes, uint64_t line, uint64_t page)
{
	struct filter_entry *of_line = filter_line(filter, line), *of_page = filter_page(filter, page);
	uint64_t use;

	if (__builtin_expect(filter_line_differs(of_line, line, writes) || of_page->key != page, 0))
		return false;
	use = filter->use += FILTER_USE;
	of_line->stamp = use;
	of_page->stamp = use;
	return true;
}

static inline bool
filter_use_address(struct hit_filter *filter, bool writes, uint64_t address)
{
	return filter_use(filter, writes, address >> filter->line_shift, address >> filter->page_shift);
}

/*
 * Code, from `first` to before `end`: the lines of its page, as far as they hit, are used one by one. Where the next
 * one begins; `first`: none was.
 */
static inline uint64_t
filter_fetch_lines(struct hit_filter *filter, uint64_t first, uint64_t end)
{
	const uint64_t page = first >> filter->page_shift, page_end = (page + 1) << filter->page_shift;
	const uint64_t stop = end < page_end ? end : page_end, last = (stop - 1) >> filter->line_shift;
	struct filter_entry *of_page = filter_page(filter, page);
	uint64_t line = first >> filter->line_shift, use = filter->use;

	if (of_page->key != page)
		return first;
	for (; line <= last; line++) {
		struct filter_entry *entry = filter_line(filter, line);

		if (filter_line_differs(entry, line, false))
			break;
		entry->stamp = use += FILTER_USE;
	}
	if (use == filter->use)
		return first;
	filter->use = of_page->stamp = use;
	return line > last ? stop : line << filter->line_shift;
}

/*
 * ---- lines of 64 bytes, in a level 1 of several sets ----
 *
 * A table place never leads to the entry of the following line, so comparing the last byte proves that the access is
 * within one line.
 */

/*
 * Hides from the compiler that the pointer is unchanged: it then folds base + offset into the store instead of keeping
 * the sum in a register.
 */
FILTER_INLINE struct hit_filter *
filter_hide(struct hit_filter *filter)
{
	__asm__("" : "+r"(filter));
	return filter;
}

FILTER_INLINE void
filter_stamp(struct hit_filter *filter, uint16_t line_at, uint16_t page_at, const bool marks_written)
{
	uint64_t use;

	filter = filter_hide(filter);
	if (marks_written)
		filter_entry_at(filter, line_at)->key |= FILTER_WRITTEN;
	filter = filter_hide(filter);
	use = filter->use += FILTER_USE;
	filter_entry_at(filter, line_at)->stamp = use;
	filter_entry_at(filter, page_at)->stamp = use;
}

/* Two lines, in this order: the last one may be of the first one's set. */
FILTER_INLINE void
filter_stamp_two(struct hit_filter *filter, uint16_t first_at, uint16_t last_at, uint16_t page_at)
{
	uint64_t use;

	filter = filter_hide(filter);
	use = filter->use += 2 * FILTER_USE;
	filter_entry_at(filter, first_at)->stamp = use - FILTER_USE;
	filter_entry_at(filter, last_at)->stamp = use;
	filter_entry_at(filter, page_at)->stamp = use;
}

/*
 * Whether the bytes from `first` to `last`, of `page`, hit on one line, which is then used. A line that was not written
 * yet is written by it: nothing else changes by the first store to a line that is there.
 */
FILTER_INLINE bool
filter_access(struct hit_filter *filter, const bool writes, uint64_t first, uint64_t last, uint64_t page)
{
	const uint16_t line_at = filter->lines[(first >> FILTER_LINE_SHIFT) % FILTER_LINES];
	const uint16_t page_at = filter->pages[page % FILTER_PAGES];

	if (__builtin_expect(filter_byte_differs(filter_entry_at(filter, line_at), last, false) ||
	                             filter_entry_at(filter, page_at)->key != page,
	                     0))
		return false;
	filter_stamp(filter, line_at, page_at, writes);
	return true;
}

/*
 * The same on one line or two, less than a line apart; both must be of the one page. What a store writes must have been
 * written before, as it is not known here on which of the two it is.
 */
FILTER_INLINE bool
filter_access_span(struct hit_filter *filter, bool writes, uint64_t first, uint64_t last, uint64_t page,
                   bool is_one_page)
{
	const uint16_t first_at = filter->lines[(first >> FILTER_LINE_SHIFT) % FILTER_LINES];
	const uint16_t page_at = filter->pages[page % FILTER_PAGES];
	uint16_t last_at;

	if (__builtin_expect(filter_entry_at(filter, page_at)->key != page, 0))
		return false;
	if (!filter_byte_differs(filter_entry_at(filter, first_at), last, writes)) {
		filter_stamp(filter, first_at, page_at, false);
		return true;
	}
	last_at = filter->lines[(last >> FILTER_LINE_SHIFT) % FILTER_LINES];
	if (__builtin_expect(filter_byte_differs(filter_entry_at(filter, first_at), first, writes) ||
	                             filter_byte_differs(filter_entry_at(filter, last_at), last, writes) ||
	                             !is_one_page,
	                     0))
		return false;
	filter_stamp_two(filter, first_at, last_at, page_at);
	return true;
}

/* ---- code: lines and their page by where the tables have them, and by their keys ---- */

FILTER_INLINE bool
filter_fetch_line(struct hit_filter *filter, uint16_t index, uint64_t key)
{
	const uint16_t at = filter->lines[index];

	if (__builtin_expect(filter_entry_at(filter, at)->key != key, 0))
		return false;
	filter = filter_hide(filter);
	filter_entry_at(filter, at)->stamp = filter->use += FILTER_USE;
	return true;
}

FILTER_INLINE bool
filter_fetch_line_of_page(struct hit_filter *filter, uint16_t index, uint64_t key, uint16_t page_index,
                          uint64_t page_key)
{
	const uint16_t at = filter->lines[index], page_at = filter->pages[page_index];

	if (__builtin_expect(filter_entry_at(filter, page_at)->key != page_key, 0) ||
	    __builtin_expect(filter_entry_at(filter, at)->key != key, 0))
		return false;
	filter_stamp(filter, at, page_at, false);
	return true;
}

/* `key`: of the second of two lines. */
FILTER_INLINE bool
filter_fetch_two(struct hit_filter *filter, const uint16_t index[2], uint64_t key, uint16_t page_index,
                 uint64_t page_key)
{
	const uint16_t first_at = filter->lines[index[0]], last_at = filter->lines[index[1]];
	const uint16_t page_at = filter->pages[page_index];

	if (__builtin_expect(filter_entry_at(filter, first_at)->key != key - filter_line_key(1) ||
	                             filter_entry_at(filter, last_at)->key != key ||
	                             filter_entry_at(filter, page_at)->key != page_key,
	                     0))
		return false;
	filter_stamp_two(filter, first_at, last_at, page_at);
	return true;
}

#endif
