/*
 * numbers.h - number pairs of keys from 0 on, in the order in which they are first seen
 *
 * A number that equals the length of the caller's array by these numbers is new.
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_MEMORY_NUMBERS_H
#define DCPI_MEMORY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_NONE UINT32_MAX

/* Zeroed: empty. */
struct numbers {
	struct number_entry *by_key;
	struct number_entry **list; /* by number */
	size_t count, room;
};

void numbers_fini(struct numbers *numbers);

/* The number of these keys, which may be new. NUMBER_NONE: no memory. */
uint32_t numbers_of(struct numbers *numbers, uint64_t first, uint64_t second);

bool numbers_has(const struct numbers *numbers, uint64_t first, uint64_t second);

/* Both keys of a number. */
const uint64_t *numbers_key(const struct numbers *numbers, uint32_t number);

#endif
