/*
 * breakdown.h - where cycles went, like figure 4 of the DCPI paper
 *
 * Cycles are in samples of time. Shares are in percent, of the tallied time or of a larger whole.
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_BREAKDOWN_H
#define DCPI_TOOLS_BREAKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "analysis/stalls.h"
#include "code/schedule.h"
#include "dcpi-tools/common/output.h"

/* Rows of dynamic stalls: those of enum stall_cause, and two more. */
enum breakdown_dynamic {
	DYNAMIC_UNEXPLAINED = CAUSE_COUNT,
	DYNAMIC_GAIN, /* negative */
	DYNAMIC_COUNT,
};

struct breakdown {
	double best_cycles, actual_cycles; /* of all executions, in samples of time */
	double instructions;               /* executed, in samples x instructions a cycle */
	double low[DYNAMIC_COUNT], high[DYNAMIC_COUNT];
	double dynamic;                   /* the sum of the rows above, each stall once */
	double fixed[STALL_REASON_COUNT]; /* static stalls, by enum stall_reason */
	double execution, sampling_error; /* added to the sums above: `tallied` */
	double tallied;                   /* of the whole */
	double tallied_percent;           /* of all samples, whether their frequency is known well enough or not */
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

/* A row of figure 4 that a user names. */
struct breakdown_row {
	const char *name; /* as the row is called */
	bool is_static;
	unsigned index; /* enum stall_cause or breakdown_dynamic; or enum stall_reason */
};

/* By its name, without regard to case, or by the letter that listings have for it. */
bool breakdown_row_find(const char *text, struct breakdown_row *row);

/* All names, for an error message. */
const char *breakdown_row_names(void);

/* The least and the most of the row, in samples. */
double breakdown_row_low(const struct breakdown_row *row, const struct stall_summary *summary);
double breakdown_row_high(const struct breakdown_row *row, const struct stall_summary *summary);

/*
 * Two percentages of all samples that, with `tallied`, add up to 100: *vague of blocks whose frequency is not known
 * well enough, *missing of what was not analysed.
 */
void breakdown_rest(double tallied, uint64_t analyzed, uint64_t samples, double *vague, double *missing);

#endif
