/*
 * guest_state.h - what the guest gets instead of the kernel's answers: in its memory, at addresses that it may have
 * made up, as the result of a system call, and as random numbers
 *
 * Memory is copied by the kernel: a bad address is refused, as it is to the guest, and raises no signal.
 * Random numbers do not change from run to run: each thread has a sequence of its own, so that other threads do not
 * change it.
 * Thread rule: any thread; guest_result_write() for its own virtual CPU, random numbers from its own sequence.
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

/*
 * How what a system call returns is changed after the emulator has made it. The plugin interface has no function for
 * that, but Debian's emulators export the one by which a debugger writes registers: with it the result's register is
 * written when the next block is entered, before anything has read it.
 */
struct guest_result {
	void *(*find_cpu)(int vcpu);
	int (*write_register)(void *cpu, uint8_t *value, int number);
	int number; /* of the register */
};

/* `target` as the emulator calls it. False: this emulator has no such functions, results stay as they are. */
bool guest_result_init(struct guest_result *result, const char *target);

/* In a callback of a block's beginning. */
void guest_result_write(const struct guest_result *result, unsigned vcpu, int64_t value);

struct guest_random {
	uint64_t state;
};

/* `seed` of the run; when the process began, in cycles, and `vcpu` tell its threads' sequences apart. */
void guest_random_init(struct guest_random *random, uint64_t seed, uint64_t when, unsigned vcpu);

void guest_random_fill(struct guest_random *random, void *bytes, size_t size);

#endif
