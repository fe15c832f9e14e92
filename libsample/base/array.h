/*
 * array.h - growing, sorting and searching arrays
 */
#ifndef DCPI_BASE_ARRAY_H
#define DCPI_BASE_ARRAY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Grow `array` from *capacity to at least `needed` elements of `size` bytes. The new pointer; NULL when memory ends,
 * and `array` stays valid.
 */
static inline void *
array_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
	size_t more = *capacity ? *capacity : 16;
	void *grown;

	if (needed <= *capacity)
		return array;
	while (more < needed)
		more *= 2;
	grown = reallocarray(array, more, size);
	if (grown)
		*capacity = more;
	return grown;
}

/* ARRAY_APPEND() for elements of `size` bytes; `array` points to the pointer to them. */
static inline void *
array_append(void *array, size_t *count, size_t *capacity, size_t size)
{
	void *grown;

	memcpy(&grown, array, sizeof(grown));
	grown = array_grow(grown, capacity, *count + 1, size);
	if (!grown)
		return NULL;
	memcpy(array, &grown, sizeof(grown));
	return (uint8_t *)grown + size * (*count)++;
}

/*
 * Append an element that is not initialized to the `count` (a size_t) elements of the pointer `array`. Returns the
 * element; NULL when memory ends, and nothing has changed.
 */
#define ARRAY_APPEND(array, count, capacity) array_append(&(array), &(count), &(capacity), sizeof(*(array)))

/* For qsort() and bsearch(): elements that are a uint32_t, or begin with one. */
static inline int
array_compare_u32(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

/* For qsort() and bsearch(): elements that are a uint64_t, or begin with one. */
static inline int
array_compare_u64(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/*
 * Make a gap for an element that begins with `number` in `count` ascending elements of `size` bytes, and return its
 * index. The elements behind it move up by one; there must be room for one more. Fast when the gap is near the end.
 */
static inline size_t
array_make_gap_u32(void *array, size_t count, size_t size, uint32_t number)
{
	uint8_t *bytes = array;
	size_t at = count;

	while (at > 0 && array_compare_u32(bytes + (at - 1) * size, &number) > 0)
		at--;
	memmove(bytes + (at + 1) * size, bytes + at * size, (count - at) * size);
	return at;
}

/* ARRAY_LOWER_BOUND() for elements of `size` bytes whose number is at `offset` and has 8 bytes (is_wide) or 4. */
static inline size_t
array_lower_bound(const void *array, size_t count, size_t size, size_t offset, bool is_wide, uint64_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const void *member = (const uint8_t *)array + middle * size + offset;

		if ((is_wide ? *(const uint64_t *)member : *(const uint32_t *)member) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ARRAY_LOWER_BOUND() for elements that are a uint32_t themselves. */
static inline size_t
array_lower_bound_u32(const uint32_t *array, size_t count, uint64_t number)
{
	return array_lower_bound(array, count, sizeof(*array), 0, false, number);
}

/*
 * The index of the first of `count` elements whose `member` is not below `number`; `count` when there is none. The
 * elements ascend by `member`, a uint64_t or uint32_t.
 */
#define ARRAY_LOWER_BOUND(array, count, member, number)                                                                \
	array_lower_bound(array, count, sizeof(*(array)), offsetof(__typeof__(*(array)), member),                      \
	                  _Generic((array)->member, uint64_t                                                           \
	                           : true, uint32_t                                                                    \
	                           : false),                                                                           \
	                  number)

#endif
