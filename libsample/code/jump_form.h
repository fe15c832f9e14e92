/*
 * jump_form.h - what an indirect jump jumps through (private to this room)
 *
 * The forms are those that gcc and clang give switches and computed gotos on x86-64 and AArch64: an index into a table
 * of addresses, or of distances from a base, of 1, 2, 4 or 8 bytes; and a label's address beside or instead of an
 * entry.
 */
#ifndef DCPI_CODE_JUMP_FORM_H
#define DCPI_CODE_JUMP_FORM_H

#include "code/definitions.h"

enum jump_kind {
	JUMP_UNKNOWN,
	JUMP_POINTER, /* a pointer out of memory, from the caller or from a call: a tail call */
	JUMP_SLOT,    /* the GOT's slot at `address` */
	JUMP_TABLE,   /* an entry of a table, or a label of the procedure */
};

struct jump_form {
	uint64_t address;   /* of the table, or of the label */
	uint64_t base;      /* what is added to an entry; 0 for addresses */
	uint8_t entry_size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool is_label;     /* no table: the jump goes to `address`, where an instruction begins */
	bool is_single;    /* it is always the first entry */
	uint8_t shift;     /* entries are shifted left by so many bits */
	uint8_t index;     /* register; REGISTER_NONE: it differs by the way to the jump */
	uint32_t index_at; /* before this instruction */
};

/* What a jump may jump through, by the way that is taken to it. */
struct jump_forms {
	struct jump_form at[DEFINITIONS_MAX]; /* all different */
	size_t count;
};

/* Look at the indirect jump `jump`; `forms` is filled in for JUMP_TABLE and, with one, for JUMP_SLOT. */
enum jump_kind jump_form_find(struct tracer *tracer, uint32_t jump, struct jump_forms *forms);

#endif
