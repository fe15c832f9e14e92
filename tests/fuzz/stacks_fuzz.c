/* profile/stacks.h: what is read is written as it was, and any bytes are either refused or read. */
#include <stdlib.h>
#include <string.h>

#include "profile/stacks.h"
#include "tests/fuzz/touch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct stack_node node;
	uint32_t number, count;
};

static int
see_node(void *context, uint32_t number, const struct stack_node *node)
{
	struct seen *seen = context;
	const struct stack_node *before = &seen->node;

	require(number > node->caller && number < UINT32_MAX && node->image == before->image);
	require(node->offset > before->offset ||
	        (node->offset == before->offset &&
	         (node->caller > before->caller || (node->caller == before->caller && number > seen->number))));
	seen->node = *node;
	seen->number = number;
	seen->count++;
	return 0;
}

/* The key, and the value behind it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[STACKS_KEY_SIZE];
	struct stacks_key key;
	struct seen seen = {0};

	if (stacks_key_decode(data, size < sizeof(again) ? size : sizeof(again), &key))
		return 0;
	stacks_key_encode(&key, again);
	require(memcmp(again, data, sizeof(again)) == 0);
	if (key.image == 0) {
		uint32_t highest;

		if (stacks_highest_decode(data + sizeof(again), size - sizeof(again), &highest) == 0)
			require(highest < UINT32_MAX);
		return 0;
	}
	/* what is before the first node */
	seen.node = (struct stack_node){.offset = key.offset, .image = key.image, .caller = key.caller};
	seen.number = key.number - 1;
	if (stacks_decode(&key, data + sizeof(again), size - sizeof(again), see_node, &seen) == 0)
		require(seen.count > 0 && seen.count <= STACKS_RUN_MAX);
	return 0;
}
