/* profile/stacks.h: what is read is written as it was, and any bytes are either refused or read. */
#include <stdlib.h>
#include <string.h>

#include "profile/stacks.h"
#include "tests/fuzz/touch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint32_t block, last;
};

static int
see_node(void *context, uint32_t number, uint32_t caller)
{
	struct seen *seen = context;

	require(number > seen->last && caller < number && caller >> STACKS_BLOCK_SHIFT == seen->block);
	seen->last = number;
	return 0;
}

/* The first byte is the block of the callers. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stacks_key key = {.block = size > 0 ? data[0] : 0};
	struct seen seen = {.block = key.block};
	uint8_t again[STACKS_KEY_SIZE];

	if (size > 0 && stacks_decode(&key, data + 1, size - 1, see_node, &seen) == 0)
		require(seen.last > 0);
	if (stacks_key_decode(data, size, &key) == 0) {
		stacks_key_encode(&key, again);
		require(size == sizeof(again) && memcmp(again, data, size) == 0);
	}
	return 0;
}
