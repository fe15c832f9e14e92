/*
 * guest_state.h - what the guest gets instead of the kernel's answers: in its memory, at addresses that it may have
 * made up, in files that list processors, and as random numbers
 *
 * Memory is copied by the kernel: a bad address is refused, as it is to the guest, and raises no signal.
 * Random numbers do not change from run to run: each thread has a sequence of its own, so that other threads do not
 * change it.
 * Thread rule: any thread, random numbers from its own sequence.
 */
#ifndef DCPI_EMULATOR_GUEST_STATE_H
#define DCPI_EMULATOR_GUEST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `base` is added to the guest's addresses. False: not all of it is there, or the address is 0. */
bool guest_memory_read(uint64_t address, uint64_t base, void *copy, size_t size);
bool guest_memory_write(uint64_t address, uint64_t base, const void *bytes, size_t size);

/* A string with its end; false: none, or longer than `size` - 1. */
bool guest_memory_read_string(uint64_t address, uint64_t base, char *copy, size_t size);

struct guest_random {
	uint64_t state;
};

/* `seed` of the run; when the process began, in cycles, and `vcpu` tell its threads' sequences apart. */
void guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu);

void guest_random_fill(struct guest_random *random, void *bytes, size_t size);

/* ---- the processors that the guest finds: the target's ---- */

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
