/*
 * aarch64_newer.h - instructions that capstone 4.0.2 does not know, or not by name (private to this room)
 *
 * Atomics of Armv8.1, branches and hints of pointer authentication and of branch targets (8.3, 8.5), acquiring loads
 * (8.3, 8.4), dot products (8.2). Thread rule: stateless.
 */
#ifndef DCPI_CODE_AARCH64_NEWER_H
#define DCPI_CODE_AARCH64_NEWER_H

#include "code/decoder.h"

/*
 * Its operands, and its name as forms.h has it ("atomic-load" for all of ldadd's kind). False: not one of these.
 */
bool aarch64_newer_detail(uint32_t word, uint64_t address, struct instruction_detail *detail);

/* Its text; offsets of the acquiring loads are not shown. False as above. */
bool aarch64_newer_text(uint32_t word, char *text, size_t size);

#endif
