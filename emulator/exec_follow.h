/*
 * exec_follow.h - run a program that the guest executes in the emulator, too
 *
 * The guest's execve() would leave the emulator. So the emulator is executed instead, with the plugin and the program.
 * A program that cannot be followed - of another architecture, or run as another user - is left to the kernel.
 * Thread rule: any thread; it allocates what it needs.
 */
#ifndef DCPI_EMULATOR_EXEC_FOLLOW_H
#define DCPI_EMULATOR_EXEC_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/program.h"

/* Numbers of system calls in the guest's architecture. */
struct exec_follow_calls {
	const char *target; /* the emulator's name of it */
	uint16_t machine;   /* EM_X86_64, ... */
	int64_t execve, execveat;
	int64_t mmap, munmap, mremap;
	int64_t clone;
	int64_t setuid, setreuid, setresuid;
};

const struct exec_follow_calls *exec_follow_calls_of(const char *target); /* NULL: unknown target */

struct exec_follow {
	const struct exec_follow_calls *calls;
	struct emulation emulation;
	void (*not_followed)(void *context); /* a program is about to be executed without the emulator */
	void *context;
};

/*
 * The guest is about to make a system call with these arguments; `base` is added to its addresses. Does not return if
 * the call is an execve() that can be followed and does not fail.
 */
void exec_follow_call(const struct exec_follow *follow, int64_t number, const uint64_t arguments[5], uint64_t base);

#endif
