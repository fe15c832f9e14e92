/*
 * guest_code.h - details of the emulator's translation of x86 code that a reader of its blocks must know
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_GUEST_CODE_H
#define DCPI_EMULATOR_GUEST_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether `code` is a string instruction with a rep prefix: the emulator enters its block once for each repetition. */
bool guest_code_repeats(const uint8_t *code, size_t size);

/*
 * Whether the last of a block's instructions, at `address` in the guest, is incomplete. The emulator ends a block
 * before an instruction that crosses into the next page, but notices this only after the instruction's first bytes:
 * QEMU up to 8 lists these bytes as an instruction of the block, although the instruction is the first of the next
 * block.
 */
bool guest_code_is_cut_off(uint64_t address, const uint8_t *code, size_t size);

#endif
