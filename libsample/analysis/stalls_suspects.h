/*
 * stalls_suspects.h - one instruction, and the reasons that it may have: each file adds those that it knows about
 */
#ifndef DCPI_ANALYSIS_STALLS_SUSPECTS_H
#define DCPI_ANALYSIS_STALLS_SUSPECTS_H

#include "analysis/stalls_private.h"

/* The instruction that is looked at. */
struct scene {
	struct elimination *elimination;
	const struct instruction *instruction;
	uint32_t block, index; /* in the block */
	uint32_t at;           /* in the graph */
	struct suspect *suspects;
};

/* Suspect a reason of `bound` cycles, besides those of it that are suspected already. */
struct suspect *suspect(const struct scene *scene, enum stall_cause cause, double bound);

/* Culprits; itself only out of order, where the listing would have nothing to show otherwise. */
void blame(struct suspect *suspect, uint32_t instruction);
void blame_itself(const struct scene *scene, struct suspect *suspect);

/* The model's cycles, where cycles are the model's. */
double model_cycles(const struct scene *scene, double cycles);

bool is_call_site(const struct instruction *instruction);

void suspect_code(const struct scene *scene);
void suspect_data(const struct scene *scene);
void suspect_branches(const struct scene *scene);
void suspect_units(const struct scene *scene);

#endif
