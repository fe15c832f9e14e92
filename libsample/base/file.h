/*
 * file.h - bytes of a file at an offset
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_FILE_H
#define DCPI_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * pread(2) until all `size` bytes are in `data`, whatever signals arrive. How many were read, fewer than `size` where
 * the file ends; or -errno.
 */
ssize_t file_read_at(int fd, void *data, size_t size, uint64_t offset);

#endif
