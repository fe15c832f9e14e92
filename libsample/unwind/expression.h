/*
 * expression.h - the DWARF expressions of unwinding rules (DWARF 5, 2.5 and 6.4.2)
 *
 * An expression computes an address or a value from registers and memory. It may come from any file: it is bounded in
 * steps and depth, and whatever it does, only what the reader of memory gives is read.
 * Thread rule: stateless.
 */
#ifndef DCPI_UNWIND_EXPRESSION_H
#define DCPI_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

#define EXPRESSION_STEPS_MAX 1000 /* operations; those of real programs have up to ten */
#define EXPRESSION_DEPTH_MAX 32   /* values on its stack */

/* What an expression may use. */
struct expression_inputs {
	const uint64_t *registers; /* UNWIND_REGISTERS values, by DWARF number */
	uint64_t known;            /* bit i: register i has a value */
	/* Read `size` (1 to 8) bytes at `address`, in this machine's byte order. False: they are not known. */
	bool (*read)(void *context, uint64_t address, size_t size, uint64_t *value);
	void *context;
	size_t *steps_left; /* operations that all expressions of a stack may still execute; NULL: any number */
};

/*
 * Evaluate `size` bytes; with `initial`, its value is on the stack to begin with (a register's rule: the CFA). 0 with
 * *result; -ENOENT when memory that it reads or a register is not known; -EBADMSG when it is not valid, or too long, or
 * no steps are left.
 */
int expression_evaluate(const uint8_t *bytes, size_t size, const struct expression_inputs *inputs,
                        const uint64_t *initial, uint64_t *result);

#endif
