/*
 * guest_result.h - what a system call returns, changed after the emulator has made it
 *
 * The plugin interface has no way to. Debian's emulators export the function by which a debugger writes registers: with
 * it the register of the result is written when the next block is entered, before anything has read it.
 * Thread rule: any thread, for its own virtual CPU.
 */
#ifndef DCPI_EMULATOR_GUEST_RESULT_H
#define DCPI_EMULATOR_GUEST_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* How results are written in this emulator. */
struct guest_result {
	void *(*find_cpu)(int vcpu);
	int (*write_register)(void *cpu, uint8_t *value, int number);
	int number;
};

/* `target` as the emulator calls it. False: this emulator has no such functions, results stay as they are. */
bool guest_result_init(struct guest_result *result, const char *target);

/* In a callback of a block's beginning. */
void guest_result_write(const struct guest_result *result, unsigned vcpu, int64_t value);

#endif
