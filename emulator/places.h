/*
 * places.h - which file the emulator's memory shows, byte for byte, where
 *
 * Reads the process' own map, which has the guest's files at the guest's addresses. What was read holds until
 * places_forget(). Code that is not what its file says - the program has changed it - is nobody's.
 * Thread rule: one thread at a time, but for places_forget().
 */
#ifndef DCPI_EMULATOR_PLACES_H
#define DCPI_EMULATOR_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

struct places;

/* Called once for each file, before places_find() gives its number; they count from 1. 0, or -errno: it has no place.
 */
typedef int places_visit(void *context, const struct record_mmap *file);

struct places *places_new(places_visit *visit, void *context); /* NULL and errno (ENOMEM) */
void places_free(struct places *places);                       /* NULL is allowed */

void places_forget(struct places *places); /* something was mapped or unmapped */

/* The number of the file that `size` bytes at `address` are from, with their offset in it; 0 for none. */
uint32_t places_find(struct places *places, const void *address, size_t size, uint64_t *offset);

#endif
