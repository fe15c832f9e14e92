#include "emulator/model/line_directory.h"

#include <sched.h>
#include <stdlib.h>

#include "emulator/model/page_map.h"
#include "emulator/model/spin_lock.h"

#define LOCKED      (UINT64_C(1) << 63)
#define CHUNK_SHIFT 16 /* log2 of a chunk's lines */
#define CHUNK_LINES (1u << CHUNK_SHIFT)

struct chunk {
	uint64_t entries[CHUNK_LINES];
	struct chunk *next;
};

struct line_directory {
	struct chunk **chunks; /* by line >> CHUNK_SHIFT; NULL: none yet. Of what is never used, the host has no page */
	struct chunk *made;    /* all of them */
};

struct line_directory *
line_directory_new(unsigned line_bytes)
{
	const unsigned region_shift = PAGE_MAP_REGION_SHIFT - (unsigned)__builtin_ctz(line_bytes) - CHUNK_SHIFT;
	struct line_directory *directory = calloc(1, sizeof(*directory));

	if (!directory)
		return NULL;
	directory->chunks = calloc((size_t)PAGE_MAP_REGIONS_MAX << region_shift, sizeof(struct chunk *));
	if (directory->chunks)
		return directory;
	free(directory);
	return NULL;
}

void
line_directory_free(struct line_directory *directory)
{
	struct chunk *chunk;

	if (!directory)
		return;
	while ((chunk = directory->made)) {
		directory->made = chunk->next;
		free(chunk);
	}
	free(directory->chunks);
	free(directory);
}

/* NULL: no memory. */
static __attribute__((noinline)) struct chunk *
make_chunk(struct line_directory *directory, struct chunk **place)
{
	struct chunk *there = NULL, *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	if (!__atomic_compare_exchange_n(place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		free(made); /* somebody was first */
		return there;
	}
	made->next = __atomic_load_n(&directory->made, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&directory->made, &made->next, made, true, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED))
		;
	return made;
}

uint64_t *
line_directory_lock(struct line_directory *directory, uint64_t line, uint64_t *entry)
{
	struct chunk **place = &directory->chunks[line >> CHUNK_SHIFT];
	struct chunk *chunk = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	unsigned spins = 0;
	uint64_t *at;

	if (__builtin_expect(!chunk, 0)) {
		chunk = make_chunk(directory, place);
		if (!chunk)
			return NULL;
	}
	at = &chunk->entries[line % CHUNK_LINES];
	while ((*entry = __atomic_fetch_or(at, LOCKED, __ATOMIC_ACQUIRE)) & LOCKED) {
		if (++spins % SPINS_MAX == 0)
			sched_yield();
	}
	return at;
}

void
line_directory_unlock(uint64_t *place, uint64_t entry)
{
	__atomic_store_n(place, entry & ~LOCKED, __ATOMIC_RELEASE);
}
