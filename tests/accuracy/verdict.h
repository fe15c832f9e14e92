/*
 * verdict.h - what an analysis infers from samples, judged by what happened
 *
 * An emulated machine tells why each instruction waited, because of which other, and how often each was executed.
 * Inferred is what stands first: of the reasons that are possible the one that took most. Thread rule: stateless.
 */
#ifndef DCPI_TESTS_ACCURACY_VERDICT_H
#define DCPI_TESTS_ACCURACY_VERDICT_H

#include "analysis/procedure.h"

#define VERDICT_ELSEWHERE UINT64_MAX /* a culprit in another image */

/* How long an instruction waited because of a culprit, which may be the instruction itself. */
struct verdict_truth {
	uint64_t address, culprit;
	double cycles;
	uint8_t cause; /* enum stall_cause */
};

struct verdict {
	double cycles;              /* that an instruction waited, whatever for; 0: never, and nothing is judged */
	uint8_t cause;              /* that it waited longest for */
	uint8_t inferred;           /* CAUSE_COUNT: none */
	uint64_t culprit;           /* because of which it waited longest for that */
	uint32_t inferred_culprits; /* how many may be to blame */
	bool is_cause, is_culprit;  /* the inference is right; a culprit counts also as one of several, or if the call
	                               inferred calls its procedure */
};

/*
 * A verdict on each instruction of the graph. `truths` ascend by address, and have each cause with each culprit once;
 * truths of instructions outside the graph are ignored. The analysis ignored exact counts. 0 or -ENOMEM.
 */
int verdicts_make(const struct procedure_analysis *analysis, const struct verdict_truth *truths, size_t count,
                  struct verdict **verdicts);

#define VERDICT_LIMITS 3

extern const double verdict_limits[VERDICT_LIMITS]; /* 5, 10, 15 percent */

struct verdict_sum {
	double samples;                /* in blocks whose executions are known */
	double within[VERDICT_LIMITS]; /* of these: the estimate is so near */
	double stall_cycles;           /* that were waited */
	double causes, culprits;       /* of these: inferred as it was */
};

/* One more procedure. `same_run`: its exact counts are of the run that was sampled, so estimates are absolute. */
void verdict_sum_add(struct verdict_sum *sum, const struct procedure_analysis *analysis, bool same_run,
                     const struct verdict *verdicts);

#endif
