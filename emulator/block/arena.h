/*
 * arena.h - memory that is allocated in pieces and freed as a whole
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_BLOCK_ARENA_H
#define DCPI_EMULATOR_BLOCK_ARENA_H

#include <stddef.h>

#define ARENA_LINE 64               /* of the host's cache */
#define ARENA_PAIR (2 * ARENA_LINE) /* two lines: the host often prefetches both together */

struct arena_chunk;

/* Zero it before its first use. */
struct arena {
	struct arena_chunk *chunk; /* the newest */
	size_t used, size;         /* of it */
};

/* `size` bytes of zeros, aligned to `alignment`, a power of two up to ARENA_PAIR; NULL: no memory. */
void *arena_take(struct arena *arena, size_t size, size_t alignment);
void arena_fini(struct arena *arena); /* empty again */

#endif
