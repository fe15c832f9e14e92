/*
 * translation.h - a block of code as the emulator is about to translate it
 *
 * It calls the emulator, so only plugins can link it.
 */
#ifndef DCPI_EMULATOR_TRANSLATION_H
#define DCPI_EMULATOR_TRANSLATION_H

#include <stddef.h>

#include "emulator/code_log.h"
#include "emulator/plugin_api.h"

struct translation {
	uint64_t address;     /* in the guest */
	const uint8_t *bytes; /* of all instructions, in the emulator's memory */
	size_t size;          /* of all instructions; 0: too many, the block cannot be counted */
	uint64_t guest_base;
	uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX];
	struct code_block block; /* without image and offset */
};

void translation_read(const struct qemu_plugin_tb *tb, bool is_x86, struct translation *translation);

#endif
