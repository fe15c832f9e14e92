/*
 * cover.h - which lines a stream of a nest of loops refers to, without its references one by one
 */
#ifndef DCPI_TOOLS_LOC_COVER_H
#define DCPI_TOOLS_LOC_COVER_H

#include <stdint.h>

#include "locality/line_set.h"
#include "locality/record_read.h"

/* Add the lines of all references of the part, of so many bytes each, at most *left, which is what is left then. */
void cover_part(const struct locality_nest *nest, const struct locality_part *part, uint32_t bytes,
                struct line_set *lines, uint32_t owner, uint64_t *left);

#endif
