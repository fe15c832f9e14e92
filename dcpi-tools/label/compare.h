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

/*
 * Run dcpistats --json and parse what it prints into *statistics, which the caller releases with json_decref(); NULL
 * where that is no JSON. Returns the exit status of dcpistats; or, where it could not be run, another after a message.
 */
int series_compare_as_json(const struct series *series, json_t **statistics);

#endif
