/*
 * translation.h - a block of code as the emulator is about to translate it
 *
 * Calls the emulator: of plugins only.
 */
#ifndef DCPI_EMULATOR_TRANSLATION_H
#define DCPI_EMULATOR_TRANSLATION_H

#include <stddef.h>

#include "emulator/code_log.h"
#include "emulator/plugin_api.h"

struct translation {
	uint64_t address;     /* in the guest */
	const uint8_t *bytes; /* of all instructions, where the emulator has them */
	size_t size;          /* of all of them; 0: no block that could be counted */
	uint64_t guest_base;
	uint8_t sizes[CODE_BLOCK_INSTRUCTIONS_MAX];
	struct code_block block; /* without a place */
};

void translation_read(const struct qemu_plugin_tb *tb, bool is_x86, struct translation *translation);

#endif
