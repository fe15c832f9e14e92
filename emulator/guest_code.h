/*
 * guest_code.h - what the emulator's own way of translating x86 code asks of who reads its blocks
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_GUEST_CODE_H
#define DCPI_EMULATOR_GUEST_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether it is a string instruction behind rep: the emulator enters it once for each time it repeats. */
bool guest_code_repeats(const uint8_t *code, size_t size);

/*
 * Whether the last of a block's instructions, at `address` in the guest, is cut off. The emulator ends a block before
 * an instruction that goes on in another page, as it finds out in the middle of it: QEMU up to 8 lists its beginning
 * all the same, though the next block has it.
 */
bool guest_code_is_cut_off(uint64_t address, const uint8_t *code, size_t size);

#endif
