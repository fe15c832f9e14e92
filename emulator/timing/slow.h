/*
 * slow.h - what callbacks do when it is not the usual
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_SLOW_H
#define DCPI_EMULATOR_TIMING_SLOW_H

#include "emulator/timing/timing.h"

/* A block begins, and it is not as usual: all of it but that it is counted. `parts`: see hot.h. */
void slow_enter(struct thread *thread, struct code *code, uint32_t parts);

/* The clock has reached the limit, with the block that begins. */
void slow_limit(struct thread *thread);

/* An instruction's own access to `size` bytes, some of which is no plain hit perhaps. */
void slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store);

/* The same of a group, whose first is at `address`. */
void slow_group(struct thread *thread, const struct access *access, uint64_t address);

#endif
