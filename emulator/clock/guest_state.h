/*
 * guest_state.h - answers for the guest instead of the kernel's: in its memory, in files that list processors, and as
 * random numbers
 *
 * The kernel copies memory, because the guest's addresses may be wrong: a bad address is refused and raises no signal.
 * Random numbers do not change from run to run: each thread has its own sequence, so other threads do not affect it.
 * Thread rule: any thread, random numbers from its own sequence.
 */
#ifndef DCPI_EMULATOR_GUEST_STATE_H
#define DCPI_EMULATOR_GUEST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `base` is added to the guest's addresses. False: a part of it is not mapped, or the address is 0. */
bool guest_memory_read(uint64_t address, uint64_t base, void *copy, size_t size);
bool guest_memory_write(uint64_t address, uint64_t base, const void *bytes, size_t size);

/* Read a string with its NUL; false: not readable, or longer than `size` - 1. */
bool guest_memory_read_string(uint64_t address, uint64_t base, char *copy, size_t size);

struct guest_random {
	uint64_t state;
};

/* `seed` is the run's. `when` the process began, in cycles, and `vcpu` make the sequences of threads different. */
void guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu);

void guest_random_fill(struct guest_random *random, void *bytes, size_t size);

/* ---- the processors that the guest finds: the target's ---- */

#define GUEST_CPUS_PATH_MAX 64 /* of the files that are replaced, with the terminating byte */

/* Bytes of the kernel's mask for `cpus` processors: whole words of eight bytes. */
size_t guest_cpus_mask_size(unsigned cpus);

/* Set the first `cpus` bits of a mask of `size` bytes, and clear the others. */
void guest_cpus_mask(uint8_t *mask, size_t size, unsigned cpus);

/* Whether processor `cpu` is in a mask. */
static inline bool
guest_cpus_has(const uint8_t *mask, unsigned cpu)
{
	return mask[cpu / 8] >> cpu % 8 & 1;
}

/* The lowest bit of a mask; -1: none is set. */
int guest_cpus_first(const uint8_t *mask, size_t size);

/* Whether `path` is a file in which the kernel lists processors. */
bool guest_cpus_is_listing(const char *path);

/*
 * Make `fd`, a descriptor of `path`, refer to a file that lists `cpus` processors instead. 0, or -errno with `fd`
 * unchanged.
 */
int guest_cpus_replace(int fd, const char *path, unsigned cpus, bool close_on_exec);

#endif
