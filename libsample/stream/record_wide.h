/*
 * record_wide.h - the fields of a sample that have a length of their own
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_STREAM_RECORD_WIDE_H
#define DCPI_STREAM_RECORD_WIDE_H

#include "stream/record.h"

/* What follows PERIOD in a sample, `size` bytes at `at`. False when they contradict themselves. */
bool record_decode_wide(const struct record_layout *layout, const uint8_t *at, size_t size, struct record *record);

/*
 * Where in those bytes the RAW field begins, whatever the byte order of what is inside it; SIZE_MAX: there is none, or
 * what comes before it is damaged.
 */
size_t record_raw_offset(const struct record_layout *layout, const uint8_t *at, size_t size);

#endif
