#include "emulator/block/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 262144u

struct arena_chunk {
	struct arena_chunk *before;
	_Alignas(ARENA_LINE) uint8_t bytes[];
};

static int
add_chunk(struct arena *arena, size_t size)
{
	const size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	struct arena_chunk *chunk;

	if (size > SIZE_MAX - sizeof(*chunk) - ARENA_LINE)
		return -1;
	chunk = aligned_alloc(ARENA_LINE, (sizeof(*chunk) + bytes + ARENA_LINE - 1) & ~(size_t)(ARENA_LINE - 1));
	if (!chunk)
		return -1;
	chunk->before = arena->chunk;
	arena->chunk = chunk;
	arena->used = 0;
	arena->size = bytes;
	return 0;
}

void *
arena_take(struct arena *arena, size_t size, size_t alignment)
{
	size_t at = (arena->used + alignment - 1) & ~(alignment - 1);
	void *taken;

	if (!arena->chunk || at > arena->size || size > arena->size - at) {
		if (add_chunk(arena, size))
			return NULL;
		at = 0;
	}
	arena->used = at + size;
	taken = arena->chunk->bytes + at;
	memset(taken, 0, size);
	return taken;
}

void
arena_fini(struct arena *arena)
{
	while (arena->chunk) {
		struct arena_chunk *before = arena->chunk->before;

		free(arena->chunk);
		arena->chunk = before;
	}
	*arena = (struct arena){NULL};
}
