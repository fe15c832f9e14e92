/*
 * byte_source.h - a file or a pipe, read once from front to back through a window of fixed size
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_STREAM_BYTE_SOURCE_H
#define DCPI_STREAM_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#define BYTE_SOURCE_WINDOW ((size_t)1 << 20) /* bytes: the most that can be asked for at once */

struct byte_source {
	int fd;          /* borrowed */
	uint8_t *window; /* owned */
	size_t at, end;  /* of what waits in the window */
	uint64_t offset; /* of what waits, in the file */
	uint64_t end_offset;
};

/* Read `fd`, which stands at `offset`, up to `end_offset` (UINT64_MAX: to its end). 0 or -ENOMEM. */
int byte_source_init(struct byte_source *source, int fd, uint64_t offset, uint64_t end_offset);
void byte_source_fini(struct byte_source *source);

/*
 * Read until `size` bytes, at most BYTE_SOURCE_WINDOW, are in the window, and set *bytes to them; they stay there until
 * the next call. 0; -ENODATA when the data ends before (byte_source_waiting() is then the number of bytes left); or the
 * errno of read().
 */
int byte_source_need(struct byte_source *source, size_t size, const uint8_t **bytes);
size_t byte_source_waiting(const struct byte_source *source);

/* Skip `size` bytes. Bytes that are not in the window yet are read and dropped. Errors of byte_source_need(). */
int byte_source_skip(struct byte_source *source, uint64_t size);

#endif
