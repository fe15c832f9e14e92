/*
 * procedure_parts.h - the steps of an analysis (private to this room)
 *
 * Each fills in its part of an analysis that has a graph. 0 or -ENOMEM.
 */
#ifndef DCPI_ANALYSIS_PROCEDURE_PARTS_H
#define DCPI_ANALYSIS_PROCEDURE_PARTS_H

#include "analysis/procedure.h"

int procedure_samples(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_executions(const struct procedure_input *input, struct procedure_analysis *analysis);
int procedure_schedules(const struct pipeline *pipeline, struct procedure_analysis *analysis);

#endif
