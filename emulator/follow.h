/*
 * follow.h - a program that the guest executes goes on in the emulator, too
 *
 * The guest's execve() would leave it. In its place the emulator is executed, with the plugin and the program. What
 * cannot be followed - another architecture, another user - is left to the kernel.
 * Thread rule: any thread; it allocates what it needs.
 */
#ifndef DCPI_EMULATOR_FOLLOW_H
#define DCPI_EMULATOR_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/program.h"

/* System calls of a guest's architecture. */
struct follow_calls {
	const char *target; /* as the emulator calls it */
	uint16_t machine;   /* EM_X86_64, ... */
	int64_t execve, execveat;
	int64_t mmap, munmap, mremap;
	int64_t clone;
};

const struct follow_calls *follow_calls_of(const char *target); /* NULL: not known here */

struct follow {
	const struct follow_calls *calls;
	struct emulation emulation;
	void (*not_followed)(void *context); /* a program is about to be executed without the emulator */
	void *context;
};

/*
 * The guest is about to make a system call with these arguments; `base` is what is added to its addresses. Does not
 * return when it was an execve() that can be followed and did not fail.
 */
void follow_call(const struct follow *follow, int64_t number, const uint64_t arguments[5], uint64_t base);

#endif
