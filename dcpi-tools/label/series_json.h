/*
 * series_json.h - the runs of a series as JSON
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LABEL_SERIES_JSON_H
#define DCPI_TOOLS_LABEL_SERIES_JSON_H

#include <jansson.h>

#include "dcpi-tools/label/series.h"

/* The object that dcpilabel(1) describes; takes `statistics`, NULL: null. NULL when memory ends. */
json_t *series_json(const struct series *series, json_t *statistics);

#endif
