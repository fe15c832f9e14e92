#include "memory/numbers.h"

#include "base/array.h"
#include "process/hash.h"

struct number_entry {
	uint64_t key[2];
	uint32_t number;
	UT_hash_handle hh;
};

void
numbers_fini(struct numbers *numbers)
{
	HASH_FREE_ALL(numbers->by_key);
	free(numbers->list);
	*numbers = (struct numbers){.count = 0};
}

uint32_t
numbers_of(struct numbers *numbers, uint64_t first, uint64_t second)
{
	const uint64_t key[2] = {first, second};
	struct number_entry *found, **place;

	HASH_FIND(hh, numbers->by_key, key, sizeof(key), found);
	if (found)
		return found->number;
	found = numbers->count < NUMBER_NONE ? calloc(1, sizeof(*found)) : NULL;
	if (!found)
		return NUMBER_NONE;
	memcpy(found->key, key, sizeof(key));
	found->number = (uint32_t)numbers->count;
	HASH_ADD(hh, numbers->by_key, key, sizeof(key), found);
	if (!hash_added(found)) {
		free(found);
		return NUMBER_NONE;
	}
	place = ARRAY_APPEND(numbers->list, numbers->count, numbers->room);
	if (!place) {
		HASH_DEL(numbers->by_key, found);
		free(found);
		return NUMBER_NONE;
	}
	*place = found;
	return found->number;
}

bool
numbers_has(const struct numbers *numbers, uint64_t first, uint64_t second)
{
	const uint64_t key[2] = {first, second};
	const struct number_entry *found;

	HASH_FIND(hh, numbers->by_key, key, sizeof(key), found);
	return found;
}

const uint64_t *
numbers_key(const struct numbers *numbers, uint32_t number)
{
	return numbers->list[number]->key;
}
