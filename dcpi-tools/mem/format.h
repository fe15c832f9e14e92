/*
 * format.h - sizes, shares and counts by node, as dcpimem prints them
 *
 * Those that take `text` write into it and return it. Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_MEM_FORMAT_H
#define DCPI_TOOLS_MEM_FORMAT_H

#include <jansson.h>
#include <stdint.h>

#include "memory/memory_profile.h"

#define MEM_TEXT_SIZE 160
#define NS_PER_S      1e9
#define PERCENT       100.0

double mem_percent(uint64_t part, uint64_t whole); /* 0 of nothing */

const char *mem_size_format(uint64_t bytes, char text[MEM_TEXT_SIZE]);                   /* "64", "1.5 KiB", "8 MiB" */
const char *mem_percent_format(uint64_t part, uint64_t whole, char text[MEM_TEXT_SIZE]); /* "75 %", "-" of nothing */

/* Shares by node: "0:95% 1:5%"; nodes below a percent are left out, and those that are not known are "?". */
const char *mem_nodes_format(const uint64_t counts[MEMORY_NODES_MAX], char text[MEM_TEXT_SIZE]);

/* The counts of nodes 0 to `nodes` - 1. NULL: no memory. */
json_t *mem_nodes_json(const uint64_t counts[MEMORY_NODES_MAX], uint64_t nodes);

#endif
