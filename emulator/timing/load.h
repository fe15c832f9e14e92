/*
 * load.h - a load of a line that is no plain hit
 *
 * The usual ones go straight on, by what level 1 is like; model/simple.h has what is usual.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_H
#define DCPI_EMULATOR_TIMING_LOAD_H

#include "emulator/timing/slow.h"

/* A handler may return to the middle of a block that was left. */
static inline bool
access_is_left(const struct thread *thread, const struct access *access)
{
	return thread->edge->code != access->code;
}

/* Of an instruction of the block that runs. */
static inline uint32_t
access_number(const struct thread *thread, unsigned index)
{
	return thread->edge->variant.block->first + index;
}

static inline bool
access_is_timed(const struct thread *thread)
{
	return thread->timing->parts & SETUP_CLOCK;
}

/* Of the thread's ways those that are loads. */
void load_choose_ways(struct thread *thread);

/* The instruction at `index` of the block that runs loads bytes of the line with `address`. */
static inline void
load_line(struct thread *thread, unsigned index, uint64_t address)
{
	thread->ways.load_line(thread, index, address);
}

#endif
