/*
 * report_json.h - what the two forms of dcpidiff's JSON have in common
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_REPORT_JSON_H
#define DCPI_TOOLS_DIFF_REPORT_JSON_H

#include <jansson.h>

#include "dcpi-tools/diff/report.h"

/* The object that says what is compared: schema, compare, before, after, confidence. NULL: no memory. */
json_t *diff_report_json(const struct report *report);

/* Add how it changed to the object `row`; not 0: no memory. */
int comparison_json(const struct report *report, const struct diff_comparison *comparison, json_t *row);

/* Samples and figures of one side. NULL: no memory. */
json_t *half_json(const struct report *report, const struct diff_comparison *comparison,
                  const struct figures figures[2], unsigned side);

#endif
