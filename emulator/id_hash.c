#include "emulator/id_hash.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_MIN 1024

int
id_hash_reserve(struct id_hash *table, bool *is_new)
{
	uint32_t size = table->size ? 2 * table->size : SLOTS_MIN;
	uint32_t *numbers;

	*is_new = false;
	if (table->used < table->size / 2)
		return 0;
	numbers = calloc(size, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	free(table->numbers);
	*table = (struct id_hash){.numbers = numbers, .size = size};
	*is_new = true;
	return 0;
}

void
id_hash_put(struct id_hash *table, uint64_t hash, uint32_t number)
{
	uint32_t at = id_hash_begin(table, hash);

	while (table->numbers[at])
		at = id_hash_next(table, at);
	table->numbers[at] = number;
	table->used++;
}

void
id_hash_fini(struct id_hash *table)
{
	free(table->numbers);
	*table = (struct id_hash){0};
}
