/*
 * aarch64_parts.h - what the files that make an aarch64 instruction share (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_AARCH64_PARTS_H
#define DCPI_CODE_AARCH64_PARTS_H

#include <capstone/capstone.h>

#include "code/decoder.h"

struct form;

/* The name and the operands of what capstone made of `word`. */
void aarch64_operands_fill(const cs_insn *from, uint32_t word, struct instruction_detail *detail);

/* What it reads, writes and is, but for its place: address, size and target. */
void aarch64_effects_fill(struct instruction *instruction, const struct form *form, uint32_t word,
                          const struct instruction_detail *detail);

#endif
