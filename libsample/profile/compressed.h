/*
 * compressed.h - the end of a value as a zstd frame (private to profile/)
 *
 * A varint with the size of what is in the frame, and the frame, up to the value's end. Bounded both ways, so that a
 * damaged value cannot ask for all memory.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_COMPRESSED_H
#define DCPI_PROFILE_COMPRESSED_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* 0 or -ENOMEM. */
int compressed_write(struct byte_writer *writer, const void *data, size_t size);

/* The size that is said, at most `max`; the reader fails on others. */
size_t compressed_size(struct byte_reader *reader, size_t max);

/* What is left in `reader` into exactly `size` bytes. 0 or -DCPI_EDAMAGED. */
int compressed_read(struct byte_reader *reader, void *data, size_t size);

#endif
