/*
 * file.h - read bytes of a file at an offset
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_FILE_H
#define DCPI_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Call pread(2) until all `size` bytes are in `data`; a signal does not end it. Returns how many bytes were read, fewer
 * than `size` only when the file ends before; or -errno.
 */
ssize_t file_read_at(int fd, void *data, size_t size, uint64_t offset);

#endif
