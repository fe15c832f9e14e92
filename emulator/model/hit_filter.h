/*
 * hit_filter.h - accesses that are known to hit level 1 and its TLB; checked at each access and each block
 *
 * Each way of level 1, and of its TLB, has an entry: the guest address of the line or page in it, and the time of its
 * last use. Two tables, one of lines and one of pages, give the entry that an address may have. When an entry changes,
 * table places that lead to it need not be found, because each look-up compares the entry's key.
 *
 * An access hits if one entry has its line, the other its page, and, for a store, the line was written since it was
 * filled. Such an access changes nothing in the caches except the stamps of its entries, which are the LRU order. So
 * ending there is exact. For code, index and key are known in advance.
 *
 * The filter is one piece of memory, so a callback needs only its address: l1_join().
 *
 * Thread rule: of the thread that runs on the core.
 */
#ifndef DCPI_EMULATOR_MODEL_HIT_FILTER_H
#define DCPI_EMULATOR_MODEL_HIT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_WRITTEN    1u               /* of a line's key */
#define FILTER_NOTHING    (UINT64_MAX - 1) /* a key of no line and no page: the contents are not known */
#define FILTER_PREFETCHED (UINT64_MAX - 3) /* a line that was prefetched, and not used since */
#define FILTER_LINE_SHIFT 6                /* of a line's number in its key: for 64-byte lines the key is the address */

/* Stamps are compared as floating point numbers, with the numbers of ways in their lower bits: lru.h. */
#define FILTER_USE       32
#define FILTER_FIRST_USE (UINT64_C(1) << 52)

#define FILTER_LINES   4096 /* table places: eight for each of 512 lines, so that few lines share one; */
#define FILTER_PAGES   1024 /* larger tables would not stay in the host's first level */
#define FILTER_NOWHERE 0    /* a place that leads to no entry */

#define FILTER_INLINE static inline __attribute__((always_inline))

struct filter_entry {
	uint64_t key;   /* of a line: filter_line_key() in the guest, and FILTER_WRITTEN; of a page: its number */
	uint64_t stamp; /* of its last use */
};

#define FILTER_STRIDE (sizeof(struct filter_entry) / sizeof(uint64_t)) /* words from stamp to stamp */

/* Lines or pages that are not modelled always hit: their shift is 63, so that their number is 0. */
struct hit_filter {
	struct filter_entry nowhere;    /* the entry of FILTER_NOWHERE: no line and no page */
	struct filter_entry a_line;     /* used if lines are not modelled */
	struct filter_entry a_page;     /* used if pages are not modelled */
	uint64_t use;                   /* the last stamp */
	uint8_t line_shift, page_shift; /* of an address, for its number */
	uint16_t lines[FILTER_LINES];   /* by the lower bits of a number: filter_entry_at() */
	uint16_t pages[FILTER_PAGES];
	struct filter_entry entries[] __attribute__((aligned(64))); /* so that sets fill few lines of the host */
};

/* Memory for a filter, with the alignment of struct hit_filter. */
struct filter_room {
	void *at;
	size_t bytes;
};

#define FILTER_NO_ROOM ((struct filter_room){.at = NULL})

/* Make a filter in zeroed memory that knows no line and no page. */
static inline void
hit_filter_clear(struct hit_filter *filter)
{
	filter->nowhere.key = FILTER_NOTHING;
}

/*
 * The offset of an entry in the filter, bytes; FILTER_NOWHERE if it does not fit 16 bits: such an entry is never found.
 */
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

/* The only entry that may have the line, or page. */
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

/* Whether the entry has another line, or, with `writes`, a line that was not written. */
FILTER_INLINE bool
filter_line_differs(const struct filter_entry *entry, uint64_t line, bool writes)
{
	const uint64_t difference = entry->key ^ filter_line_key(line);

	return writes ? difference != FILTER_WRITTEN : difference > FILTER_WRITTEN;
}

/* filter_line_differs() for the line with byte `address`, if lines have 64 bytes. */
FILTER_INLINE bool
filter_byte_differs(const struct filter_entry *entry, uint64_t address, bool writes)
{
	const uint64_t within = (UINT64_C(1) << FILTER_LINE_SHIFT) - 1;

	return writes ? entry->key != ((address | within) ^ within ^ FILTER_WRITTEN) : (entry->key ^ address) > within;
}

/* ---- lines and pages of any size ---- */

/* Whether the line alone, or the page alone, hits; it is then used. With `writes` the line is marked as written. */
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

/* filter_use_line() that marks nothing: with `writes` the line must have been written before. */
FILTER_INLINE bool
filter_use_line_as_it_is(struct hit_filter *filter, uint64_t line, bool writes)
{
	struct filter_entry *entry = filter_line(filter, line);

	if (filter_line_differs(entry, line, writes))
		return false;
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
 * Fetch code, from `first` to before `end`: use the lines in the page of `first` one by one, as long as they hit.
 * Returns where the first line that was not used begins; `first`: none was used.
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
 * Whether the bytes from `first` to `last`, of `page`, hit in one line, which is then used. A store marks the line as
 * written: the first store to a line in the cache changes nothing else. With `is_coherent` it may change the caches of
 * other cores, too: the line must have been written before.
 */
FILTER_INLINE bool
filter_access(struct hit_filter *filter, const bool writes, const bool is_coherent, uint64_t first, uint64_t last,
              uint64_t page)
{
	const uint16_t line_at = filter->lines[(first >> FILTER_LINE_SHIFT) % FILTER_LINES];
	const uint16_t page_at = filter->pages[page % FILTER_PAGES];

	if (__builtin_expect(filter_byte_differs(filter_entry_at(filter, line_at), last, writes && is_coherent) ||
	                             filter_entry_at(filter, page_at)->key != page,
	                     0))
		return false;
	filter_stamp(filter, line_at, page_at, writes && !is_coherent);
	return true;
}

/*
 * filter_access() for bytes in one line or two successive lines, which must be in one page (is_one_page). For a store,
 * both lines must have been written before, because it is not known here which of them the store writes.
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

/* ---- code: lines and their page by table index and key ---- */

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
