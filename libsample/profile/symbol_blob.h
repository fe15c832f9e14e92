/*
 * symbol_blob.h - the captured names of an image as one compressed value (private to profile/)
 *
 * A format byte and, compressed (compressed.h), for each name the varint distance from the offset before, in FORMAT_2
 * the varint size, the name - none for code without one - and a NUL.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROFILE_SYMBOL_BLOB_H
#define DCPI_PROFILE_SYMBOL_BLOB_H

#include <stddef.h>

#include "base/bytes.h"
#include "profile/profile.h"

#define SYMBOL_TEXT_MAX (64u << 20) /* bytes, not compressed; the names of a kernel are 5 MB */

/* 0; -EINVAL for offsets that descend; -EFBIG past SYMBOL_TEXT_MAX; -ENOMEM. */
int symbol_blob_encode(const struct profile_symbol *symbols, size_t count, struct byte_writer *writer);

/* *symbols is one piece of memory, names and all, for free(). 0, -ENOMEM or -DCPI_EDAMAGED. */
int symbol_blob_decode(const void *data, size_t size, struct profile_symbol **symbols, size_t *count);

#endif
