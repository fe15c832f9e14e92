/*
 * symbol_ranges.h - overlapping stretches of code made disjoint (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_IMAGE_SYMBOL_RANGES_H
#define DCPI_IMAGE_SYMBOL_RANGES_H

#include <stddef.h>

#include "image/symbol_table.h"

/*
 * Cut `count` spans, ascending and with distinct starts, into disjoint ascending ranges: where spans overlap, the one
 * that begins last has the code until it ends. `ranges` has room for 2 * count. 0 with *range_count set, or -ENOMEM.
 */
int symbol_ranges_flatten(const struct symbol_range *spans, size_t count, struct symbol_range *ranges,
                          size_t *range_count);

/*
 * The parts of `count` spans (ascending by start) that neither a range nor an earlier span covers, with the symbol of
 * their span. `pieces` has room for count + range_count. Returns their number.
 */
size_t symbol_ranges_gaps(const struct symbol_range *spans, size_t count, const struct symbol_range *ranges,
                          size_t range_count, struct symbol_range *pieces);

#endif
