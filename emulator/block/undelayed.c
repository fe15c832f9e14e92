/* Whether what the block before leaves is there in time: see block_parts.h. */
#include <string.h>

#include "emulator/block/block_parts.h"

/* When the instruction issues that is before the first that has to do with the register: until then nobody asks. */
static unsigned
asked_after(const struct block_node *node, unsigned reg)
{
	const struct variant *first = node->first;
	const uint16_t user = block_first_reader(&node->block, reg);

	if (user == BLOCK_NOT_USED)
		return first->cycles;
	return user > 0 ? first->issue_cycles[user - 1] : 0;
}

static bool
is_any_busy(const struct carried *carried)
{
	static const uint8_t none[PIPELINE_UNITS_MAX];

	return memcmp(carried->busy, none, sizeof(none)) != 0;
}

bool
block_is_undelayed(const struct block_node *node, const struct carried *carried)
{
	if (is_any_busy(carried))
		return false;
	for (unsigned reg = 0; reg < REGISTER_COUNT; reg++)
		if (carried->ready[reg] && carried->ready[reg] > asked_after(node, reg))
			return false;
	return true;
}
