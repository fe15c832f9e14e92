/*
 * stalls_suspects.h - one instruction, and the reasons that it may have: each file adds those that it knows about
 */
#ifndef DCPI_ANALYSIS_STALLS_SUSPECTS_H
#define DCPI_ANALYSIS_STALLS_SUSPECTS_H

#include "analysis/stalls_private.h"

/* The instruction that is looked at. */
struct place {
	struct elimination *elimination;
	const struct instruction *instruction;
	uint32_t block, index; /* in the block */
	uint32_t at;           /* in the graph */
	struct suspect *suspects;
};

/* Suspect a reason of `bound` cycles, besides those of it that are suspected already. */
struct suspect *suspect(const struct place *place, enum stall_cause cause, double bound);

/* Culprits; itself only out of order, where the listing would have nothing to show otherwise. */
void blame(struct suspect *suspect, uint32_t instruction);
void blame_itself(const struct place *place, struct suspect *suspect);

/* At most so many cycles of the model, in those of the frequencies. */
double model_cycles(const struct place *place, double cycles);

/*
 * How many bytes the accesses of instruction `at` are apart, on average, from one of its executions to the next. False
 * when it is not known.
 */
bool find_stride(struct elimination *elimination, uint32_t at, double *bytes);

bool is_call_site(const struct instruction *instruction);

void suspect_code(const struct place *place);
void suspect_data(const struct place *place);
void suspect_branches(const struct place *place);
void suspect_units(const struct place *place);

#endif
