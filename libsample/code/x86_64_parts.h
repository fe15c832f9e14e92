/*
 * x86_64_parts.h - what the files that make an x86-64 instruction share (private to this room)
 *
 * Thread rule: as decoder.h.
 */
#ifndef DCPI_CODE_X86_64_PARTS_H
#define DCPI_CODE_X86_64_PARTS_H

#include "code/decoder.h"
#include "code/x86_64_encoding.h"

struct form;

/* The name and the operands of what is in decoder->scratch, which was disassembled at `address`. */
void x86_64_operands_fill(struct decoder *decoder, const struct x86_encoding *encoding, uint64_t address,
                          struct instruction_detail *detail);

/* What it reads, writes and is, but for its place: address, size and target. */
void x86_64_effects_fill(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
                         const struct instruction_detail *detail);

#endif
