/*
 * x86_64_newer_table.h - the encodings that x86_64_newer.h is about (private to this room)
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_X86_64_NEWER_TABLE_H
#define DCPI_CODE_X86_64_NEWER_TABLE_H

#include "code/x86_64_encoding.h"

/*
 * Operands, the destination first: V, K, G are ModRM.reg as a vector, a mask, a general register; H, L, B are VEX.vvvv
 * as these; W, Q, E are ModRM.rm as these or memory; M is memory; I an immediate. A lower case x, y behind V, H or W
 * makes it 128 or 256 bits. In names "%bw" and "%dq" are a letter by W, "%wb" and "%qd" the other way round.
 *
 * `tuple` says how much memory there is: 0 the vector (or, broadcast, one element by W), else so many bytes, else HALF,
 * QUARTER or EIGHTH of the vector, or ELEMENT (4 or 8 by W).
 */
#define HALF    100
#define QUARTER 101
#define EIGHTH  102
#define ELEMENT 103

struct newer_form {
	uint8_t kind, map, prefix, opcode, w, field; /* field: ModRM.reg as a part of the opcode */
	uint8_t tuple;
	const char *name, *operands;
};

/* NULL: it is not among them. */
const struct newer_form *x86_64_newer_find(const struct x86_encoding *encoding);

#endif
