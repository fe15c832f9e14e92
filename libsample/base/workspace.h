/*
 * workspace.h - arrays that a computation needs until it is done
 *
 * All arrays are zeroed, and freed together. So a function checks `has_failed` once, after it has made the last array,
 * and has one thing to free. `{0}` is an empty workspace. Thread rule: one thread per workspace.
 */
#ifndef DCPI_BASE_WORKSPACE_H
#define DCPI_BASE_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

union workspace_block {
	union workspace_block *next;
	max_align_t aligned;
};

struct workspace {
	union workspace_block *blocks;
	bool has_failed; /* memory ended for one of the arrays, which is NULL */
};

static inline void *
workspace_array(struct workspace *workspace, size_t count, size_t size)
{
	union workspace_block *block = NULL;
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes) && !__builtin_add_overflow(bytes, sizeof(*block), &bytes))
		block = calloc(1, bytes);
	if (!block) {
		workspace->has_failed = true;
		return NULL;
	}
	block->next = workspace->blocks;
	workspace->blocks = block;
	return block + 1;
}

static inline void
workspace_free(struct workspace *workspace)
{
	while (workspace->blocks) {
		union workspace_block *block = workspace->blocks;

		workspace->blocks = block->next;
		free(block);
	}
}

#endif
