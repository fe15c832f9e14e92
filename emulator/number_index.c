#include "emulator/number_index.h"

#include <errno.h>
#include <stdlib.h>

#define INDEX_MIN 1024 /* entries */

int
number_index_reserve(struct number_index *index, bool *is_new)
{
	uint32_t size = index->size ? 2 * index->size : INDEX_MIN;
	uint32_t *numbers;

	*is_new = false;
	if (index->used < index->size / 2)
		return 0;
	numbers = calloc(size, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	free(index->numbers);
	*index = (struct number_index){.numbers = numbers, .size = size};
	*is_new = true;
	return 0;
}

void
number_index_put(struct number_index *index, uint64_t hash, uint32_t number)
{
	uint32_t at = number_index_begin(index, hash);

	while (index->numbers[at])
		at = number_index_next(index, at);
	index->numbers[at] = number;
	index->used++;
}

void
number_index_fini(struct number_index *index)
{
	free(index->numbers);
	*index = (struct number_index){0};
}
