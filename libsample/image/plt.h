/*
 * plt.h - names for the stubs through which a program calls other images (private to this room)
 *
 * Knows the stubs that GNU ld, lld and mold write for x86-64 (with and without IBT) and AArch64 (with and without
 * BTI and PAC).
 * Thread rule: one thread per builder; plt_code_next() is stateless.
 */
#ifndef DCPI_IMAGE_PLT_H
#define DCPI_IMAGE_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"
#include "image/symbols.h"

/*
 * Add a symbol `NAME@plt` for each stub of .plt, .plt.sec, .plt.got and .iplt that jumps through a GOT slot whose
 * relocation names a symbol, or an indirect function's resolver; the resolver's name must have been added before.
 * Names point into `file` and into the builder's candidates. 0 or -ENOMEM; damaged sections give no names.
 */
int plt_add(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments);

/* ---- the GOT slots through which stubs jump ---- */

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

/* The first stub at or behind *at; moves *at behind it. False when there is none. */
bool plt_code_next(const struct plt_code *plt, size_t *at, struct plt_stub *stub);

#endif
