/*
 * plt_code.h - what the stubs of a procedure linkage table jump through (private to this room)
 *
 * Knows the stubs that GNU ld, lld and mold write for x86-64 (with and without IBT) and AArch64 (with and without
 * BTI and PAC).
 * Thread rule: stateless.
 */
#ifndef DCPI_IMAGE_PLT_CODE_H
#define DCPI_IMAGE_PLT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plt_code {
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	const uint8_t *code;
	size_t size;
	uint64_t address; /* of the first byte */
};

struct plt_stub {
	size_t at, size; /* bytes from the start of the code */
	bool has_slot;   /* otherwise it has an index */
	uint64_t slot;   /* address of the GOT entry that it jumps through */
	uint64_t index;  /* of its relocation in .rela.plt */
};

/* The first stub at or behind *at, which moves behind it; false when there is none. */
bool plt_code_next(const struct plt_code *plt, size_t *at, struct plt_stub *stub);

#endif
