/*
 * small_file.h - files of the kernel in /sys, /proc/sys and /proc/PID of which only the first line is needed
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_SMALL_FILE_H
#define DCPI_BASE_SMALL_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The first line, without its newline. If a program's name has a newline, this is not all of its /proc/PID/stat. 0,
 * -errno, -ENAMETOOLONG (the path) or -EFBIG (the line does not fit).
 */
int small_file_read(char *text, size_t size, const char *path_format, ...) __attribute__((format(printf, 3, 4)));

/* The decimal number in the first line. 0, -errno, or -EINVAL when the line is no number. */
int small_file_read_number(int64_t *number, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

#endif
