/*
 * cpu_list.h - lists of CPUs as the kernel prints them ("0-3,8,10-11")
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_CPU_LIST_H
#define DCPI_BASE_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_NUMBER_MAX 65535

/*
 * Parse `text` into *cpus, in the order of the text; the caller frees it. How many (at least 1); -EINVAL when `text` is
 * no list, or names a CPU above CPU_NUMBER_MAX; -ENOMEM.
 */
int cpu_list_parse(const char *text, uint32_t **cpus);

/* cpu_list_parse() of the text in file `path`, e.g. /sys/devices/system/cpu/online; or -errno of reading it. */
int cpu_list_read(const char *path, uint32_t **cpus);

bool cpu_list_has(const uint32_t *cpus, int count, uint32_t cpu);

/*
 * Write ascending `cpus` as the kernel does: "0-3,8", "" for none. A list that does not fit `size` is cut behind a
 * whole number.
 */
void cpu_list_format(const uint32_t *cpus, size_t count, char *text, size_t size);

#endif
