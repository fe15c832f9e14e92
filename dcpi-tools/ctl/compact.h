/*
 * compact.h - `dcpictl compact` where no dcpid runs, and what it says in either case
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_COMPACT_H
#define DCPI_TOOLS_CTL_COMPACT_H

#include <stdint.h>

#define COMPACT_SECONDS 3600 /* that dcpid may take */

/* Compact the database in `directory`, as its writer. Returns an exit status after a message. */
int compact_database(const char *directory);

/* "48.2 MiB -> 12.1 MiB"; an exit status. */
int compact_print(uint64_t before_bytes, uint64_t after_bytes);

#endif
