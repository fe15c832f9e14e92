/*
 * kernel_symbols.h - names of the kernel's procedures, where the recording is of the kernel that runs here
 *
 * A recording tells none. Whether it is this kernel, and these modules, their build-ids say.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_KERNEL_SYMBOLS_H
#define DCPI_TOOLS_IMPORT_KERNEL_SYMBOLS_H

#include <stddef.h>

#include "process/image_table.h"
#include "profile/profile.h"

/*
 * Store the names of those of the session's images, number 0 and following, that are parts of the kernel that runs;
 * they have been flushed. Where names are hidden, or memory ends, images stay without.
 */
void kernel_symbols_store(struct profile *profile, const struct image *images, uint32_t count);

#endif
