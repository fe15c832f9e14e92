/*
 * faults.h - what accesses mean that are faults of NUMA balancing, and writes that watchpoints saw
 *
 * Of both it is not known how long they took. A fault of another node's page costs 1, others nothing.
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_MEM_FAULTS_H
#define DCPI_TOOLS_MEM_FAULTS_H

#include <stdint.h>

#include "memory/memory_profile.h"

/*
 * At the end, when all accesses are in the profile: MEMORY_DRAM ones are faults, MEMORY_CACHE ones writes by
 * watchpoints, with 1 in `cycles` if their thread wrote there often. The first fault of each page is left out; accesses
 * to lines that several threads use, and that one writes often, become MEMORY_TRANSFER; and busy_cycles becomes the
 * accesses.
 */
void faults_finish(struct memory_profile *profile, uint64_t page_bytes, uint64_t line_bytes);

#endif
