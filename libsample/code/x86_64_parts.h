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

/* Bytes of its memory operand, where capstone 4 and 5 disagree; else `told`, what this capstone tells. */
uint8_t x86_64_memory_size(const char *name, uint8_t told);

/* "dword" of 4 bytes, as Intel's syntax has it; NULL: none. */
const char *x86_64_size_name(uint8_t size);

/* What it reads, writes and is, but for its place: address, size and target. */
void x86_64_effects_fill(struct instruction *instruction, const struct form *form, const struct x86_encoding *encoding,
                         const struct instruction_detail *detail);

#endif
