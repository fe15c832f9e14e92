/*
 * breakdown.h - where the cycles of a procedure went, as figure 4 of the DCPI paper shows it
 *
 * Cycles are in samples of time. Shares are of all that were tallied, in percent.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_CALC_BREAKDOWN_H
#define DCPI_TOOLS_CALC_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "dcpi-tools/common/output.h"

enum breakdown_dynamic {
	DYNAMIC_CODE_CACHE,
	DYNAMIC_CODE_TLB,
	DYNAMIC_DATA_CACHE,
	DYNAMIC_DATA_TLB,
	DYNAMIC_WRITE_BUFFER,
	DYNAMIC_SYNCHRONIZATION,
	DYNAMIC_MISPREDICT,
	DYNAMIC_MULTIPLIER,
	DYNAMIC_DIVIDER,
	DYNAMIC_OTHER,
	DYNAMIC_UNEXPLAINED,
	DYNAMIC_GAIN, /* negative */
	DYNAMIC_COUNT,
};

#define BREAKDOWN_STATIC 5 /* as enum stall_reason */

struct breakdown {
	double best_cycles, actual_cycles; /* of all executions, in samples of time */
	double instructions;               /* executed, by that measure */
	double low[DYNAMIC_COUNT], high[DYNAMIC_COUNT];
	double dynamic;                   /* what the rows above add up to, each stall once */
	double fixed[BREAKDOWN_STATIC];   /* static stalls */
	double execution, sampling_error; /* with those above, 100 */
	double tallied_percent;           /* of the procedure's samples */
};

void breakdown_print(const struct breakdown *breakdown, const struct output *output);

/* "D-cache miss" */
const char *breakdown_dynamic_name(enum breakdown_dynamic reason);

#endif
