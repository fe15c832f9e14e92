/*
 * order.h - tally entries in the order of the database's keys
 *
 * Sorts in place and allocates nothing, so that a flush under memory pressure still works.
 * Thread rule: stateless.
 */
#ifndef DCPI_TALLY_ORDER_H
#define DCPI_TALLY_ORDER_H

#include "tally/tally.h"

/* By event, image, context, offset. Keys are distinct. */
void entries_sort(struct tally_entry *entries, size_t count);

#endif
