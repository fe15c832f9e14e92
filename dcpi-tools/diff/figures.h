/*
 * figures.h - what an analysis says of a procedure, a block or an instruction, besides its samples
 *
 * Plain data. Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_FIGURES_H
#define DCPI_TOOLS_DIFF_FIGURES_H

#include <stdbool.h>

#include "analysis/procedure.h"

struct figures {
	bool is_known;       /* it was analysed, and something can be said */
	bool is_relative;    /* executions are right relative to one another only, cycles within a factor of two */
	unsigned confidence; /* in the frequency (enum frequency_confidence); of at least half of a procedure */
	double executions;   /* of a procedure: how often it was entered; 0: not known */
	double samples;      /* of what the others are known of; moved back by the skid */
	double instructions; /* that were executed for them, in samples x instructions a cycle */
	double cycles;       /* of one instruction, on average; below 0: not known */
	double low[CAUSE_COUNT], high[CAUSE_COUNT]; /* samples that each reason took, at least and at most */
};

void figures_of_procedure(const struct procedure_analysis *analysis, struct figures *figures);
void figures_of_block(const struct procedure_analysis *analysis, uint32_t block, struct figures *figures);
void figures_of_instruction(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction,
                            struct figures *figures);

/* The two are parts of one thing; a part that is not known does not count. */
void figures_add(struct figures *figures, const struct figures *other);

/* Samples that one reason may have taken: the most of all. */
double figures_lost(const struct figures *figures);

#endif
