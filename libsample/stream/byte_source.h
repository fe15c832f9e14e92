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
 * Have `size` bytes wait, at most BYTE_SOURCE_WINDOW, and give where they are; they stay there until the next call. 0,
 * -ENODATA (that many do not come; byte_source_waiting() tells how many do), or the errno of read().
 */
int byte_source_need(struct byte_source *source, size_t size, const uint8_t **bytes);
size_t byte_source_waiting(const struct byte_source *source);

/* Go on behind `size` bytes. Those that do not wait are read and dropped: errors as above. */
int byte_source_skip(struct byte_source *source, uint64_t size);

#endif
