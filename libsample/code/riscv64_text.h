/*
 * riscv64_text.h - the texts of riscv64 instructions (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_RISCV64_TEXT_H
#define DCPI_CODE_RISCV64_TEXT_H

#include "code/riscv64_parts.h"

struct text;

void riscv64_text(const uint8_t *bytes, size_t length, uint64_t address, struct text *text);

#endif
