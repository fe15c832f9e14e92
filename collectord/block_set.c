#include "collectord/block_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void
block_set_fini(struct block_set *set)
{
	free(set->blocks);
	memset(set, 0, sizeof(*set));
}

static int
compare(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

/* Those that are new, ascending, each once, to the front; how many. */
static size_t
keep_new(const struct block_set *set, uint32_t *blocks, size_t count)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		while (at < set->count && set->blocks[at] < blocks[i])
			at++;
		if ((at == set->count || set->blocks[at] != blocks[i]) && (kept == 0 || blocks[kept - 1] != blocks[i]))
			blocks[kept++] = blocks[i];
	}
	return kept;
}

long
block_set_add(struct block_set *set, uint32_t *blocks, size_t count, size_t room)
{
	size_t added, left, to;
	uint32_t *grown;

	if (count)
		qsort(blocks, count, sizeof(*blocks), compare);
	added = keep_new(set, blocks, count);
	if (added > room)
		added = room;
	grown = array_grow(set->blocks, &set->capacity, set->count + added + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->blocks = grown;
	left = set->count;
	to = set->count + added;
	for (size_t new = added; new > 0;) {
		if (left > 0 && grown[left - 1] > blocks[new - 1])
			grown[--to] = grown[--left];
		else
			grown[--to] = blocks[--new];
	}
	set->count += added;
	return (long)added;
}
