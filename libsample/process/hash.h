/*
 * hash.h - uthash as this room uses it
 *
 * Running out of memory is reported, not fatal: after HASH_ADD..., hash_added(element) says whether it was added. Keys
 * are hashed eight bytes at a time: those of images have dozens of bytes, and each mapping record looks one up.
 */
#ifndef DCPI_PROCESS_HASH_H
#define DCPI_PROCESS_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t
hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 by the golden ratio */
	return hash ^ hash >> 32;
}

static inline unsigned
hash_bytes(const void *key, size_t size)
{
	const uint8_t *at = key;
	uint64_t hash = size, word;

	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, at, size);
	hash = hash_mix(hash, word);
	return (unsigned)(hash ^ hash >> 16);
}

#define HASH_FUNCTION(key, size, hash) ((hash) = hash_bytes((key), (size)))
#define HASH_NONFATAL_OOM              1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

/* Empty the table, and free its elements. */
#define HASH_FREE_ALL(head)                                                                                            \
	do {                                                                                                           \
		__typeof__(head) hash_at = (head), hash_next;                                                          \
                                                                                                                       \
		HASH_CLEAR(hh, head);                                                                                  \
		for (; hash_at; hash_at = hash_next) {                                                                 \
			hash_next = hash_at->hh.next;                                                                  \
			free(hash_at);                                                                                 \
		}                                                                                                      \
	} while (0)

#endif
