/*
 * copy_cost.h - what it takes to copy an object to other nodes, on a machine that is emulated
 *
 * dcpimem emulates itself, copying: the caches, prefetchers and memory of the machine decide, and so does the C
 * library's memcpy(). Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_COPY_COST_H
#define DCPI_TOOLS_MEM_COPY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/emu/emulation.h"

#define COPY_COST_COMMAND "copy-cost" /* of dcpimem, by which it emulates itself */
int mem_copy_cost_main(int argc, char **argv);

/*
 * How long it takes until each other node has a copy of `bytes` of the first node's memory, s, when all copy at once:
 * one thread of each, or one on each of its cores. `like`: how the program was run. STATUS_OK, or an exit status after
 * a message.
 */
int copy_cost_measure(const struct emulation_request *like, uint64_t bytes, bool is_single, double *seconds,
                      bool *asked);

#endif
