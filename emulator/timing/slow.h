/*
 * slow.h - what callbacks do when it is not the usual
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_SLOW_H
#define DCPI_EMULATOR_TIMING_SLOW_H

#include "emulator/timing/timing.h"

/* Code of a block that begins, some of which is no plain hit. */
void slow_fetch(struct thread *thread, const struct code *code);

/* The block before was predicted wrongly to go on elsewhere. */
void slow_mispredicted(struct thread *thread, const struct code *code);

/* The block before ended with a call, a return or an indirect jump. */
void slow_special(struct thread *thread, const struct code *code);

/* Out of order: the variant that was not needed before. */
struct variant *slow_variant(struct thread *thread, struct code *code);

/* The clock has reached the limit, with the block that begins. */
void slow_limit(struct thread *thread);

/* An access to `size` bytes, some of which is no plain hit perhaps: an instruction's own, or a group's first. */
void slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store);

#endif
