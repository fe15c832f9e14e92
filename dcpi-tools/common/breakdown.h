/*
 * breakdown.h - where cycles went, as figure 4 of the DCPI paper shows it
 *
 * Cycles are in samples of time. Shares are in percent, of what was tallied or of a larger whole.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_BREAKDOWN_H
#define DCPI_TOOLS_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "analysis/stalls.h"
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
	double execution, sampling_error; /* with those above, `tallied` */
	double tallied;                   /* of the whole */
	double tallied_percent;           /* of the samples, known well enough or not */
};

/* Shares of `whole` samples: of those that were tallied (summary->actual), or of a larger total. */
void breakdown_make(const struct stall_summary *summary, double whole, struct breakdown *breakdown);

/* Figure 4: the first prints all of it, the second all but its last two lines. */
void breakdown_print(const struct breakdown *breakdown, const struct output *output);
void breakdown_print_rows(const struct breakdown *breakdown, const struct output *output);

/* One more row like "Execution", and the rule above a sum. */
void breakdown_print_total(const char *name, double percent, const struct output *output);
void breakdown_print_rule(const struct output *output);

/* The values of all rows, by their names. */
json_t *breakdown_json(const struct breakdown *breakdown);

/* "D-cache miss"; "Slotting", of enum stall_reason */
const char *breakdown_dynamic_name(enum breakdown_dynamic reason);
const char *breakdown_static_name(unsigned reason);

#endif
