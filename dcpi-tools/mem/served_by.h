/*
 * served_by.h - what served the samples of a recording, as a table and as JSON
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_SERVED_BY_H
#define DCPI_TOOLS_MEM_SERVED_BY_H

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "memory/data_source.h"

/* 0, -ENOMEM, or the stream's error. */
int served_by_print(const struct data_source_counts *counts, const struct output *output);

/* By data_count_key(), with "weight" and "levels". NULL: no memory. */
json_t *served_by_json(const struct data_source_counts *counts);

#endif
