/*
 * compare.h - dcpistats over the runs of a series
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LABEL_COMPARE_H
#define DCPI_TOOLS_LABEL_COMPARE_H

#include <jansson.h>

#include "dcpi-tools/label/series.h"

#define COMPARE_PROGRAM "dcpistats"

/* Become dcpistats. Returns only when that cannot be: an exit status, after a message. */
int series_compare(const struct series *series);

/* Its JSON output, the caller's; NULL: it printed none. Its exit status, or another after a message. */
int series_compare_as_json(const struct series *series, json_t **statistics);

#endif
