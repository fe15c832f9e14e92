/*
 * memory_x86_64.h - copies of the process's pages, each from when it was first touched in a burst
 */
#ifndef DCPI_TOOLS_X_REPLICA_MEMORY_X86_64_H
#define DCPI_TOOLS_X_REPLICA_MEMORY_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_PAGE UINT64_C(4096)

/* Is the page at this address here? If not, bring it; false when it cannot be had. */
bool memory_has_page(uint64_t address);

bool memory_read(uint64_t address, uint64_t *value);
bool memory_write(uint64_t address, uint64_t value);

/* What was copied for a burst is old after it. */
void memory_drop(void);

#endif
