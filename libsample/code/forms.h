/*
 * forms.h - what an instruction does to its operands, by its name (private to this room)
 *
 * One table per architecture, in x86_64.c, aarch64.c and riscv64.c.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_FORMS_H
#define DCPI_CODE_FORMS_H

#include <stddef.h>
#include <stdint.h>

/* What happens to the first operands; those that follow are read. */
enum operand_access {
	ACCESS_READ,   /* all are read */
	ACCESS_WRITE,  /* the first is written */
	ACCESS_UPDATE, /* the first is read and written */
	ACCESS_PAIR,   /* the first two are written */
	ACCESS_SWAP,   /* the first two are read and written */
	ACCESS_SECOND, /* the second is written (aarch64: ldadd) */
	ACCESS_NONE,   /* none is touched */
};

enum form_trait {
	FLAGS_READ = 1 << 0,
	FLAGS_WRITE = 1 << 1,
	IS_MOVE = 1 << 2,    /* a load or store, and nothing else, when it has memory */
	IS_ZEROING = 1 << 6, /* with one register as both operands, the result does not depend on it (xor) */
	USES_X87 = 1 << 7,
	IS_STORE = 1 << 8, /* memory is written, by an operand that is not the first */
	IS_LOAD = 1 << 9,
	IS_LANDING = 1 << 10,
	KEEPS_FIRST = 1 << 11, /* x86-64: the first operand may stay as it was (bsf) */
};

struct form {
	const char *names; /* between blanks; one that ends in '*' stands for all that begin so */
	uint8_t class;     /* enum instruction_class */
	uint8_t access;    /* enum operand_access */
	uint16_t traits;   /* enum form_trait */
	uint8_t flow;      /* enum instruction_flow */
	uint32_t reads;    /* implicit: bits of general registers */
	uint32_t writes;
};

/* The form of `name` in a table: an exact name before a pattern, a longer pattern before a shorter one. NULL: none. */
const struct form *form_find(const struct form *forms, size_t count, const char *name);

const struct form *x86_64_form(const char *name);
const struct form *aarch64_form(const char *name);
const struct form *riscv64_form(const char *name);

#endif
