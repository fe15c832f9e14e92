/*
 * places.h - function, file and line of an instruction, by its image and offset
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_PLACES_H
#define DCPI_TOOLS_LOC_PLACES_H

#include <stdint.h>

#include "process/image_table.h"

struct code_places;

struct code_place {
	const char *function; /* as it is linked; "": not known. Valid as long as the places */
	const char *file;     /* "": not known */
	uint32_t line;        /* 0: not known */
};

struct code_places *code_places_new(const struct image_table *images); /* borrowed; NULL: no memory */
void code_places_free(struct code_places *places);                     /* NULL is allowed */

/* `image`: a number of the table, + 1; 0: none. What cannot be read is not known. 0 or -ENOMEM. */
int code_places_find(struct code_places *places, uint32_t image, uint64_t offset, struct code_place *place);

#endif
