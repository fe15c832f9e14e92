/*
 * plain_usual.h - plain hits where lines are of the usual size and level 1 has several sets, as they are asked for at
 * each block and each access
 *
 * The place that a line's entry says never has the next line, so that the last byte of what is accessed tells whether
 * it is of that line.
 *
 * Thread rule: plain.h's.
 */
#ifndef DCPI_EMULATOR_MODEL_PLAIN_USUAL_H
#define DCPI_EMULATOR_MODEL_PLAIN_USUAL_H

#include "emulator/model/plain.h"

/*
 * The same memory, of which the compiler does not know that: where places are is added anew for what is written, as a
 * part of it, which takes no instruction.
 */
static inline __attribute__((always_inline)) struct plain_hits *
plain_again(struct plain_hits *plain)
{
	__asm__("" : "+r"(plain));
	return plain;
}

/* What is at both places is used; `marks`: the line was written. */
static inline __attribute__((always_inline)) void
plain_hits_stamp(struct plain_hits *plain, uint16_t line_at, uint16_t page_at, const bool marks)
{
	uint64_t use;

	plain = plain_again(plain);
	if (marks)
		plain_place_at(plain, line_at)->key |= PLAIN_WRITTEN;
	plain = plain_again(plain);
	use = plain->use += PLAIN_USE;
	plain_place_at(plain, line_at)->stamp = use;
	plain_place_at(plain, page_at)->stamp = use;
}

/* The same of two lines, in this order: the last one may be of the first one's set. */
static inline __attribute__((always_inline)) void
plain_hits_stamp_two(struct plain_hits *plain, uint16_t first_at, uint16_t last_at, uint16_t page_at)
{
	uint64_t use;

	plain = plain_again(plain);
	use = plain->use += 2 * PLAIN_USE;
	plain_place_at(plain, first_at)->stamp = use - PLAIN_USE;
	plain_place_at(plain, last_at)->stamp = use;
	plain_place_at(plain, page_at)->stamp = use;
}

/* Code, which is not written: lines and their page by where the tables have them, and by their keys. */
static inline __attribute__((always_inline)) bool
plain_code_use_line(struct plain_hits *plain, uint16_t index, uint64_t key)
{
	const uint16_t at = plain->lines[index];

	if (__builtin_expect(plain_place_at(plain, at)->key != key, 0))
		return false;
	plain = plain_again(plain);
	plain_place_at(plain, at)->stamp = plain->use += PLAIN_USE;
	return true;
}

static inline __attribute__((always_inline)) bool
plain_code_use_page(struct plain_hits *plain, uint16_t index, uint64_t key, uint16_t page_index, uint64_t page_key)
{
	const uint16_t at = plain->lines[index], page_at = plain->pages[page_index];

	if (__builtin_expect(plain_place_at(plain, page_at)->key != page_key, 0) ||
	    __builtin_expect(plain_place_at(plain, at)->key != key, 0))
		return false;
	plain_hits_stamp(plain, at, page_at, false);
	return true;
}

/* `key`: of the second of two lines. */
static inline __attribute__((always_inline)) bool
plain_code_use_two(struct plain_hits *plain, const uint16_t index[2], uint64_t key, uint16_t page_index,
                   uint64_t page_key)
{
	const uint16_t first_at = plain->lines[index[0]], last_at = plain->lines[index[1]];
	const uint16_t page_at = plain->pages[page_index];

	if (__builtin_expect(plain_place_at(plain, first_at)->key != key - plain_line_key(1) ||
	                             plain_place_at(plain, last_at)->key != key ||
	                             plain_place_at(plain, page_at)->key != page_key,
	                     0))
		return false;
	plain_hits_stamp_two(plain, first_at, last_at, page_at);
	return true;
}

/* Whether the bytes from `first` to `last` are of the line, and the page, that are there if they are plain hits. */
static inline __attribute__((always_inline)) bool
plain_hits_are(struct plain_hits *plain, uint16_t line_at, uint16_t page_at, bool writes, uint64_t last, uint64_t page)
{
	return __builtin_expect(!plain_byte_differs(plain_place_at(plain, line_at), last, writes) &&
	                                !plain_page_differs(plain_place_at(plain, page_at), page),
	                        1);
}

/*
 * The bytes from `first`, of `page`, to `last`, less than a line apart: whether all is a plain hit, which is then used;
 * what a store writes must have been written. Of another page they are none.
 */
static inline __attribute__((always_inline)) bool
plain_hits_use_near(struct plain_hits *plain, bool writes, uint64_t first, uint64_t last, uint64_t page,
                    bool is_one_page)
{
	const uint16_t first_at = plain_line_at(plain, first >> PLAIN_LINE_SHIFT), page_at = plain_page_at(plain, page);
	uint16_t last_at;

	if (__builtin_expect(plain_page_differs(plain_place_at(plain, page_at), page), 0))
		return false;
	if (!plain_byte_differs(plain_place_at(plain, first_at), last, writes)) {
		plain_hits_stamp(plain, first_at, page_at, false);
		return true;
	}
	last_at = plain_line_at(plain, last >> PLAIN_LINE_SHIFT);
	if (__builtin_expect(plain_byte_differs(plain_place_at(plain, first_at), first, writes) ||
	                             plain_byte_differs(plain_place_at(plain, last_at), last, writes) || !is_one_page,
	                     0))
		return false;
	plain_hits_stamp_two(plain, first_at, last_at, page_at);
	return true;
}

/*
 * The same of bytes that are of one line, or else false, which are read or written. A line that was not written yet
 * need not be looked for: that it was is all that changes.
 */
static inline __attribute__((always_inline)) bool
plain_hits_access_bytes(struct plain_hits *plain, const bool writes, uint64_t first, uint64_t last, uint64_t page)
{
	const uint16_t line_at = plain_line_at(plain, first >> PLAIN_LINE_SHIFT), page_at = plain_page_at(plain, page);

	if (!plain_hits_are(plain, line_at, page_at, false, last, page))
		return false;
	plain_hits_stamp(plain, line_at, page_at, writes);
	return true;
}

#endif
