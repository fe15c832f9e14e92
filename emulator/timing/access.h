/*
 * access.h - accesses that the hit filter does not know: looked up in the caches, misses counted and stalled for
 *
 * A signal handler may return into the middle of a block that was left; such accesses belong to no known instruction
 * and are ignored.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_ACCESS_H
#define DCPI_EMULATOR_TIMING_ACCESS_H

#include "emulator/timing/timing.h"

/* An instruction's own access to `size` bytes; the same bytes loaded and then stored. */
void access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store);
void access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size);

/* The part of a group (block.h) that one callback of its leader, at `address`, covers. */
void access_group(struct thread *thread, const struct access *access, uint64_t address);

#endif
