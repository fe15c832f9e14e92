/*
 * frequency_source.h - what the frequencies of a procedure come from, in words
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_FREQUENCY_SOURCE_H
#define DCPI_TOOLS_FREQUENCY_SOURCE_H

#include <jansson.h>
#include <stdio.h>

#include "dcpi-tools/common/recorded.h"

/* The best source that the frequencies of blocks come from, and the epoch that it was recorded in; 0: the samples'. */
enum frequency_method frequency_source(const struct procedure_analysis *analysis, const struct recorded *recorded,
                                       uint32_t *epoch);

/* A line for the head of a report, or two; nothing where all is plain. */
void frequency_source_print(const struct procedure_analysis *analysis, const struct recorded *recorded, FILE *stream);
json_t *frequency_source_json(const struct procedure_analysis *analysis, const struct recorded *recorded);

/* What is only right relative to other blocks is not said to the last digit. */
void frequency_format(double value, bool is_relative, char *text, size_t size);

#endif
