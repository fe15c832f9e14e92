/*
 * place_table.h - where in their images samples were, and what was asked for of it
 *
 * By image and block of text 64 bits: one for each granule (capture/protocol.h). Holds PLACE_TABLE_MAX blocks, 1.5 MiB,
 * and then no more.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_COLLECTORD_PLACE_TABLE_H
#define DCPI_COLLECTORD_PLACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/protocol.h"

#define PLACE_TABLE_MAX 49152

struct place_slot {
	uint32_t image, block;
	uint64_t seen;  /* granules with samples; 0: the slot is free */
	uint64_t asked; /* of them, those that somebody asked for */
};

struct place_table {
	struct place_slot *slots;
	size_t size, count; /* a power of two, or 0; those in use */
};

void place_table_fini(struct place_table *table);

/* A sample at byte `offset` of the image: true when its granule was not asked for, and there is room for it. */
bool place_table_note(struct place_table *table, uint32_t image, uint64_t offset);

/*
 * What was seen of the image and not asked for, ascending by block, up to `max` blocks; it counts as asked for from
 * here on. Returns how many.
 */
size_t place_table_ask(struct place_table *table, uint32_t image, struct request_place *places, size_t max);

/* Nothing of the image was asked for after all. */
void place_table_unask(struct place_table *table, uint32_t image);

#endif
