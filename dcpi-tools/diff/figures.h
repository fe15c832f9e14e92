/*
 * figures.h - the results of analysis for a procedure, a block or an instruction
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_FIGURES_H
#define DCPI_TOOLS_DIFF_FIGURES_H

#include <stdbool.h>

#include "analysis/procedure.h"

struct code_figures {
	bool is_known;       /* it was analysed, and something can be said */
	bool is_relative;    /* executions are right relative to one another only, cycles within a factor of two */
	unsigned confidence; /* in the frequency (enum frequency_confidence); of at least half of a procedure */
	double executions;   /* of a procedure: how often it was entered; 0: not known */
	double samples;      /* of the code that has a known frequency; moved back by the skid */
	double instructions; /* that were executed for them, in samples x instructions a cycle */
	double cycles;       /* of one instruction, on average; below 0: not known */
	double low[CAUSE_COUNT], high[CAUSE_COUNT]; /* samples that each reason took, at least and at most */
};

void figures_of_procedure(const struct procedure_analysis *analysis, struct code_figures *figures);
void figures_of_block(const struct procedure_analysis *analysis, uint32_t block, struct code_figures *figures);
void figures_of_instruction(const struct procedure_analysis *analysis, uint32_t block, uint32_t instruction,
                            struct code_figures *figures);

/* Add a part of one whole; a part that is not known is left out. */
void figures_add(struct code_figures *figures, const struct code_figures *other);

/* The largest of `high`. */
double figures_lost(const struct code_figures *figures);

#endif
