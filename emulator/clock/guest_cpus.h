/*
 * guest_cpus.h - the processors that the guest finds: the target's
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_CPUS_H
#define DCPI_EMULATOR_GUEST_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_CPUS_PATH_MAX 64 /* of the files that are replaced, with the terminating byte */

/* Bytes of a mask in a kernel for so many processors: whole words of eight bytes. */
size_t guest_cpus_mask_size(unsigned cpus);

/* The first `cpus` bits of a mask of that size. */
void guest_cpus_mask(uint8_t *mask, size_t size, unsigned cpus);

/* The lowest bit of a mask; -1: none is set. */
int guest_cpus_first(const uint8_t *mask, size_t size);

/* The kernel lists processors in this file. */
bool guest_cpus_is_listing(const char *path);

/*
 * Make descriptor `fd`, which is `path`'s, one of a file that lists `cpus` processors instead. 0, or -errno: `fd` stays
 * as it was.
 */
int guest_cpus_replace(int fd, const char *path, unsigned cpus, bool close_on_exec);

#endif
