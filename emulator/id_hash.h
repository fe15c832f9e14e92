/*
 * id_hash.h - a hash table of ids: indexes into an array of the caller, from 1
 *
 * Open addressing; 0 is an empty slot. A look-up walks from id_hash_begin() by id_hash_next() until it finds 0;
 * the caller compares the keys.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_ID_HASH_H
#define DCPI_EMULATOR_ID_HASH_H

#include <stdbool.h>
#include <stdint.h>

struct id_hash {
	uint32_t *numbers;
	uint32_t size, used; /* size: a power of two, or 0 before the first id_hash_put() */
};

static inline uint64_t
id_hash_mix(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/* The first and the next slot of a look-up; not of a table of size 0. */
static inline uint32_t
id_hash_begin(const struct id_hash *table, uint64_t hash)
{
	return (uint32_t)hash & (table->size - 1);
}

static inline uint32_t
id_hash_next(const struct id_hash *table, uint32_t at)
{
	return (at + 1) & (table->size - 1);
}

/*
 * Make room for one more id. 0, or -ENOMEM with the table unchanged. If `*is_new`, the table has grown and is empty:
 * the caller puts all ids again.
 */
int id_hash_reserve(struct id_hash *table, bool *is_new);
void id_hash_put(struct id_hash *table, uint64_t hash, uint32_t number);
void id_hash_fini(struct id_hash *table); /* empty again */

#endif
