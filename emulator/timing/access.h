/*
 * access.h - an instruction's access that the filter of hits does not know: caches are asked, and what it missed is
 * counted and waited for
 *
 * A handler may return to the middle of a block that was left; an access of it then is of no instruction, and ignored.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_ACCESS_H
#define DCPI_EMULATOR_TIMING_ACCESS_H

#include "emulator/timing/timing.h"

/* An instruction's own access to `size` bytes; the same bytes loaded and then stored. */
void access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store);
void access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size);

/* The part of a group (block.h) that a callback of its leader at `address` tells of. */
void access_group(struct thread *thread, const struct access *access, uint64_t address);

#endif
