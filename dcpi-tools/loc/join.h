/*
 * join.h - the loops of a program's own record, and the instructions of its exact trace, side by side
 *
 * Loops in one line of one function's source are one row: the vectorised loop, what is left over, and copies of it. An
 * instruction belongs to the loop that has a reference in its line, by debug information, and else to the smallest loop
 * whose references are in lines around it. What belongs to none - functions of libraries, code without debug lines, or
 * that the compiler's plugin does not describe - counts for the program alone.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_JOIN_H
#define DCPI_TOOLS_LOC_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/loc/profile.h"
#include "dcpi-tools/loc/trace_read.h"

/* One half of a row. */
struct join_side {
	double references; /* of the record: estimated from bursts */
	double spatial;
	double temporal;    /* -1: not known */
	uint64_t footprint; /* bytes: lines of 64 that are referred to */
};

struct join_row {
	const struct locality_loop *loop; /* one of them: it has function, file and line */
	struct join_side estimated, exact;
};

/* An instruction that belongs to a row. */
struct join_instruction {
	const struct locality_loop *loop; /* the row's */
	const struct traced_instruction *traced;
	uint32_t line;
};

struct join {
	struct join_instruction *instructions; /* in the trace's order */
	size_t instruction_count, instruction_room;
	struct join_row *rows; /* most references first, by the exact trace */
	size_t count;
	struct join_side estimated, exact; /* of all; the first of what is recorded, the second of all of the program */
	double described;                  /* exact references of the rows */
	double unplaced;                   /* of instructions without a debug line */
	double sampled;                    /* exact references whose reuse distances are sampled */
	double temporal_error;             /* of exact.temporal: one standard error; 0: it is exact, or not known */
};

/* `profile` has no records if the program left none. Both are borrowed. 0 or -ENOMEM. */
int join_make(struct join *join, const struct loc_profile *profile, struct trace *trace);
void join_fini(struct join *join); /* a zeroed one is allowed */

#endif
