/*
 * branch_x86_64.h - the successor of an instruction
 *
 * The replica executes a trace of instructions natively, up to one that decides where control goes; this module
 * computes the effect of that one. Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_X_REPLICA_BRANCH_X86_64_H
#define DCPI_TOOLS_X_REPLICA_BRANCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "code/x86_64_encoding.h"

enum branch_kind {
	BRANCH_NONE,    /* on to the next */
	BRANCH_DIRECT,  /* a jump or call to where its encoding says, always */
	BRANCH_DECIDED, /* by flags, registers or memory: branch_take() */
	BRANCH_LEAVES,  /* into the kernel, or otherwise not to be executed by a replica */
};

struct branch_memory {
	bool (*read)(uint64_t address, uint64_t *value);
	bool (*write)(uint64_t address, uint64_t value);
	uint64_t fs_base, gs_base;
};

enum branch_kind branch_kind_of(const struct x86_encoding *encoding);

/* Where a BRANCH_DIRECT at `place` leads. */
uint64_t branch_target(const struct x86_encoding *encoding, uint64_t place);

/*
 * Emulate the instruction at registers[REG_RIP], with these bytes and this encoding, of any kind except BRANCH_NONE and
 * BRANCH_LEAVES. False when its memory cannot be accessed; then nothing has changed.
 */
bool branch_take(const uint8_t *code, const struct x86_encoding *encoding, greg_t *registers,
                 const struct branch_memory *memory);

#endif
