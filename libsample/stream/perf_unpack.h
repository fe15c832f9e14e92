/*
 * perf_unpack.h - decompress perf's compressed records
 *
 * All compressed records of a file are one zstd stream, and a record may begin in one and end in the next. Memory holds
 * zstd's window (at most 128 MiB; perf's levels take up to 8) and a few records.
 * Private to the room. Thread rule: one thread.
 */
#ifndef DCPI_STREAM_PERF_UNPACK_H
#define DCPI_STREAM_PERF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

struct perf_unpack;

struct perf_unpack *perf_unpack_new(void); /* NULL and errno (ENOMEM) */
void perf_unpack_free(struct perf_unpack *unpack);

/*
 * Take the `size` bytes of the next compressed record, after the one before it was read to its end. They must stay
 * valid until they are read to their end.
 */
void perf_unpack_put(struct perf_unpack *unpack, const void *packed, size_t size);

/*
 * Decompress until `size` bytes (at most 65535) wait, or the record ends: *waiting bytes are at *bytes. 0, or
 * -DCPI_EDAMAGED.
 */
int perf_unpack_need(struct perf_unpack *unpack, size_t size, uint8_t **bytes, size_t *waiting);
void perf_unpack_skip(struct perf_unpack *unpack, size_t size); /* drop bytes that wait */

#endif
