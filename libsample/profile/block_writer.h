/*
 * block_writer.h - the counts of one flush, into their blocks (private to profile/)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_BLOCK_WRITER_H
#define DCPI_PROFILE_BLOCK_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "profile/handle.h"
#include "tally/tally.h"

/*
 * Add `entries` (sorted as tally_sort() does) to the blocks of `slice`, in key order. Offsets past COUNTS_OFFSET_MAX
 * are left out. 0; -EINVAL for entries that are not sorted or whose image or context has not been given; an error.
 */
int blocks_put(const struct profile *profile, MDB_txn *txn, uint32_t slice, const struct tally_entry *entries,
               size_t count);

#endif
