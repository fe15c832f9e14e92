/*
 * perf_unpack.h - records out of perf's compressed ones
 *
 * All compressed records of a file are one zstd stream, and a record may begin in one and end in the next. Memory is
 * that of zstd's window (at most 128 MiB; perf's levels take up to 8) and of a few records.
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
 * Take what one record held, after the one before it was read to its end: `size` bytes, which must stay until these
 * have been, too.
 */
void perf_unpack_put(struct perf_unpack *unpack, const void *packed, size_t size);

/*
 * Have as much of `size` bytes (at most 65535) wait as there are: *waiting of them at *bytes. 0, or -DCPI_EDAMAGED.
 */
int perf_unpack_need(struct perf_unpack *unpack, size_t size, uint8_t **bytes, size_t *waiting);
void perf_unpack_skip(struct perf_unpack *unpack, size_t size); /* what waits */

#endif
