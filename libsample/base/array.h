/*
 * array.h - arrays that grow while they are filled
 */
#ifndef DCPI_BASE_ARRAY_H
#define DCPI_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Room for `needed` elements of `size` bytes at `array`, which has *capacity; NULL when memory ends, the old one kept.
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

#endif
