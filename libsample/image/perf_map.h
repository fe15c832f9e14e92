/*
 * perf_map.h - the functions in a process's /tmp/perf-PID.map
 *
 * Text, one function a line: where it begins and how long it is, in hexadecimal, and its name, which may contain
 * spaces. Processes append to it while they run: a last line without its end is left for the next time.
 * Thread rule: that of the code.
 */
#ifndef DCPI_IMAGE_PERF_MAP_H
#define DCPI_IMAGE_PERF_MAP_H

#include "image/run_time_code.h"

#define PERF_MAP_BYTES_MAX ((uint64_t)256 << 20) /* what lies behind that is not read, and the code is cut */

/* Read `fd` from where it stands, and add what it tells. 0, -ENOMEM or the errno of read(). */
int perf_map_read(int fd, struct run_time_code *code);

#endif
