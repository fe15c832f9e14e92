/*
 * jump_form.h - what an indirect jump jumps through (private to this room)
 *
 * The forms are those that gcc and clang give switches and computed gotos on x86-64 and AArch64: an index into a table
 * of addresses, or of distances from a base, of 1, 2, 4 or 8 bytes.
 */
#ifndef DCPI_CODE_JUMP_FORM_H
#define DCPI_CODE_JUMP_FORM_H

#include "code/definitions.h"

enum jump_kind {
	JUMP_UNKNOWN,
	JUMP_POINTER, /* a pointer out of memory, from the caller or from a call: a tail call */
	JUMP_SLOT,    /* the GOT's slot at `address` */
	JUMP_TABLE,
};

struct jump_form {
	uint64_t address;   /* of the table */
	uint64_t base;      /* what is added to an entry; 0 for addresses */
	uint8_t entry_size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool is_single;    /* it is always the first entry */
	uint8_t shift;     /* entries are shifted left by so many bits */
	uint8_t index;     /* register; REGISTER_NONE: it differs by the way to the jump */
	uint32_t index_at; /* before this instruction */
};

/* Look at the indirect jump `jump`; `form` is filled in for JUMP_TABLE and JUMP_SLOT. */
enum jump_kind jump_form_find(struct tracer *tracer, uint32_t jump, struct jump_form *form);

#endif
