/*
 * small_file.h - the one-line files of /proc/sys and /sys
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EVENT_SMALL_FILE_H
#define DCPI_EVENT_SMALL_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The first line, without its newline. 0, -errno, -ENAMETOOLONG (the path) or -EFBIG (the line does not fit). */
int small_file_read(char *text, size_t size, const char *path_format, ...) __attribute__((format(printf, 3, 4)));

/* The decimal number in it. 0, -errno, or -EINVAL when it is none. */
int small_file_read_number(int64_t *number, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

#endif
