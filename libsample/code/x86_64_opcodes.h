/*
 * x86_64_opcodes.h - what x86-64's opcodes say of the bytes that follow them (private to this room)
 *
 * Source: Intel SDM volume 2, appendix A; AMD APM volume 3, appendix A. Thread rule: stateless.
 */
#ifndef DCPI_CODE_X86_64_OPCODES_H
#define DCPI_CODE_X86_64_OPCODES_H

#include "code/x86_64_encoding.h"

/* Whether a legacy encoding's opcode is an instruction in 64-bit mode. */
bool x86_opcode_is_valid(const struct x86_encoding *encoding);

bool x86_opcode_has_modrm(const struct x86_encoding *encoding);

/* Bytes; ModRM, which tells some apart, must be there. */
uint8_t x86_opcode_immediate_size(const struct x86_encoding *encoding);

#endif
