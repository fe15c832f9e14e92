/*
 * unwind.h - the call stack of a user thread, from its registers and a copy of the top of its stack
 *
 * Each frame's caller is found by the rules of the table of its image (table.h), or by frame pointers in code that the
 * process made at run time. Nothing is guessed: where there are no rules, or what they need is not known, the stack is
 * truncated, and enum unwind_end says why.
 * A table may be a hostile file's: the expressions of one stack execute at most UNWIND_STEPS_MAX operations.
 * Thread rule: stateless. Nothing is allocated.
 */
#ifndef DCPI_UNWIND_UNWIND_H
#define DCPI_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

#define UNWIND_STEPS_MAX 20000 /* 0.2 ms; a thousand frames that realign their stack need as many */

struct unwind_registers {
	uint64_t values[UNWIND_REGISTERS]; /* by DWARF number */
	uint64_t known;                    /* bit i: values[i] is known */
};

/*
 * The registers of a perf sample (PERF_SAMPLE_REGS_USER): `values` has one for each bit of `mask` (sample_regs_user),
 * the lowest bit first, in all `count`.
 */
void unwind_registers_from_perf(enum unwind_machine machine, uint64_t mask, const uint64_t *values, size_t count,
                                struct unwind_registers *registers);

/* The bytes that are at `address` in the process. */
struct unwind_stack {
	uint64_t address; /* the stack pointer's value */
	const uint8_t *bytes;
	size_t size;
};

/* What is at an address of the process. */
enum unwind_code {
	UNWIND_CODE_NONE,          /* no code */
	UNWIND_CODE_WITHOUT_TABLE, /* code of an image without a table */
	UNWIND_CODE_FRAME_POINTER, /* code made at run time, which keeps a frame pointer */
	UNWIND_CODE_TABLE,         /* code of an image with a table */
};

struct unwind_process {
	enum unwind_machine machine;
	/* For UNWIND_CODE_TABLE with *table and the file offset of `pc` in *offset. The table must be the machine's. */
	enum unwind_code (*find)(void *context, uint64_t pc, const struct unwind_table **table, uint64_t *offset);
	void *context;
};

struct unwind_frame {
	uint64_t pc;
	bool is_exact; /* the pc was interrupted there; else it is a return address, behind the call */
};

/* How a stack ended: at its outermost frame, or truncated. */
enum unwind_end {
	UNWIND_OUTERMOST,
	UNWIND_NO_TABLE,    /* no rules for the last frame's code */
	UNWIND_BEYOND_COPY, /* the caller is further up the stack than was copied */
	UNWIND_BAD_FRAME, /* what was found is no caller: the stack pointer does not move up or the pc is not in code */
	UNWIND_DEPTH_LIMIT, /* there are more frames than there was room for */
	UNWIND_ENDS,
};

/* What the end is called, for people: "outermost", "no table", ... */
const char *unwind_end_name(enum unwind_end end);

/*
 * Unwind into `frames`, the innermost first, at most `capacity` (at least 1). *count is their number, at least 1 if the
 * pc is known and in code.
 */
enum unwind_end unwind_stack(const struct unwind_process *process, const struct unwind_registers *registers,
                             const struct unwind_stack *stack, struct unwind_frame *frames, size_t capacity,
                             size_t *count);

#endif
