/*
 * x86_64_newer.h - instructions that capstone 4.0.2 does not know (private to this room)
 *
 * Most of AVX-512's byte, word and mask instructions, which the string functions of a C library are made of, and some
 * system instructions. Of a VEX or EVEX encoding that is not in the table the length and the registers are known, not
 * the name. Thread rule: stateless.
 */
#ifndef DCPI_CODE_X86_64_NEWER_H
#define DCPI_CODE_X86_64_NEWER_H

#include "code/decoder.h"
#include "code/decoder_internal.h"
#include "code/x86_64_encoding.h"

#define X86_64_UNKNOWN_NAME "unknown"

/* Its name and operands; the name is X86_64_UNKNOWN_NAME where only the encoding is. False: no instruction. */
bool x86_64_newer_detail(const struct x86_encoding *encoding, uint64_t address, struct instruction_detail *detail);

/* Its text, when it is in the table. */
bool x86_64_newer_text(const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
                       struct text *text);

#endif
