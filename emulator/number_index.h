/*
 * number_index.h - where an edge, or a block, is found: numbers into an array, by hash
 *
 * Open addressing; 0 is empty. Who looks up walks from number_index_begin() along the table until it finds 0.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_NUMBER_INDEX_H
#define DCPI_EMULATOR_NUMBER_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct number_index {
	uint32_t *numbers;
	uint32_t size, used; /* size: a power of two, or 0 before anything was put */
};

static inline uint64_t
number_index_mix(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/* The first and the next place to look at; not of an index of size 0. */
static inline uint32_t
number_index_begin(const struct number_index *index, uint64_t hash)
{
	return (uint32_t)hash & (index->size - 1);
}

static inline uint32_t
number_index_next(const struct number_index *index, uint32_t at)
{
	return (at + 1) & (index->size - 1);
}

/*
 * Room for one more. 0, or -ENOMEM with the index as it was. When `*is_new` it is a larger one that is empty, and who
 * calls fills it again.
 */
int number_index_reserve(struct number_index *index, bool *is_new);
void number_index_put(struct number_index *index, uint64_t hash, uint32_t number);
void number_index_fini(struct number_index *index); /* empty again */

#endif
