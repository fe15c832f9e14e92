/*
 * waiting.h - in order: the loads whose values are waited for later, by who uses them
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_WAITING_H
#define DCPI_EMULATOR_TIMING_WAITING_H

#include "emulator/timing/thread.h"

/* None is waited for. */
void waiting_forget(struct thread *thread);

/* One is waited for no more; another takes its place. */
void waiting_remove(struct thread *thread, unsigned at);

/* Those whose users are at `index` of the block that runs, or before, are waited for now; there are some. */
void waiting_settle_some(struct thread *thread, unsigned index);

/* The same if there are. */
static inline void
waiting_settle(struct thread *thread, unsigned index)
{
	if (__builtin_expect(thread->first_user <= index, 0))
		waiting_settle_some(thread, index);
}

/*
 * With some that are waited for: behind what the block before waits for, which of the rest the block that runs needs.
 * It has just begun, with its static time in the clock.
 */
void waiting_begin_block(struct thread *thread);

/* The same if it is one load and all is as usual; else false: nothing was done. */
bool waiting_begin_plainly(struct thread *thread);

#endif
