/*
 * small_file.h - files of the kernel whose first line is all that matters: of /sys, /proc/sys, /proc/PID
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_SMALL_FILE_H
#define DCPI_BASE_SMALL_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The first line, without its newline; of /proc/PID/stat that is less than all if the program's name has a newline.
 * 0, -errno, -ENAMETOOLONG (the path) or -EFBIG (the line does not fit).
 */
int small_file_read(char *text, size_t size, const char *path_format, ...) __attribute__((format(printf, 3, 4)));

/* The decimal number in it. 0, -errno, or -EINVAL when it is none. */
int small_file_read_number(int64_t *number, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

#endif
