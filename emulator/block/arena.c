#include "emulator/block/arena.h"

#include <stdint.h>
#include <sys/mman.h>

#define CHUNK_BYTES ((size_t)2 << 20) /* a huge page */

struct arena_chunk {
	struct arena_chunk *before;
	size_t size; /* of all of it */
	_Alignas(ARENA_PAIR) uint8_t bytes[];
};

/* Whole chunks, each on its own huge page if the kernel has some: what is new is zero, and 512 faults are one. */
static struct arena_chunk *
map_chunk(size_t size)
{
	uint8_t *mapped = mmap(NULL, size + CHUNK_BYTES, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *begin = mapped;

	if (mapped == MAP_FAILED)
		return NULL;
	begin += -(uintptr_t)mapped & (CHUNK_BYTES - 1);
	if (begin > mapped)
		munmap(mapped, (size_t)(begin - mapped));
	if (begin < mapped + CHUNK_BYTES)
		munmap(begin + size, (size_t)(mapped + CHUNK_BYTES - begin));
	madvise(begin, size, MADV_HUGEPAGE); /* not without them: it only takes longer */
	return (struct arena_chunk *)begin;
}

static int
add_chunk(struct arena *arena, size_t wanted)
{
	struct arena_chunk *chunk;
	size_t size;

	if (wanted > SIZE_MAX / 2)
		return -1;
	size = (sizeof(*chunk) + wanted + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1);
	chunk = map_chunk(size);
	if (!chunk)
		return -1;
	chunk->before = arena->chunk;
	chunk->size = size;
	arena->chunk = chunk;
	arena->used = 0;
	arena->size = size - sizeof(*chunk);
	return 0;
}

void *
arena_take(struct arena *arena, size_t size, size_t alignment)
{
	size_t at = (arena->used + alignment - 1) & ~(alignment - 1);

	if (!arena->chunk || at > arena->size || size > arena->size - at) {
		if (add_chunk(arena, size))
			return NULL;
		at = 0;
	}
	arena->used = at + size;
	return arena->chunk->bytes + at;
}

void
arena_fini(struct arena *arena)
{
	while (arena->chunk) {
		struct arena_chunk *before = arena->chunk->before;

		munmap(arena->chunk, arena->chunk->size);
		arena->chunk = before;
	}
	*arena = (struct arena){NULL};
}
