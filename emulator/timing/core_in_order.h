/*
 * core_in_order.h - in order: loads in flight, and the instructions that wait for their values
 *
 * A load itself waits for nothing but its turn, of as many as may be in flight. Its value is waited for by its first
 * user: at once when that comes before any other access to memory, else when the block that runs has come to it.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_IN_ORDER_H
#define DCPI_EMULATOR_TIMING_CORE_IN_ORDER_H

#include "emulator/timing/thread.h"

/* The load of instruction `index` of the block that runs missed something. */
void in_order_load_missed(struct thread *thread, unsigned index, const struct access_result *result);

/* No value is waited for. */
void in_order_forget(struct thread *thread);

/*
 * With some that are waited for: behind what the block before waits for, which of the rest the block that runs needs.
 * It has just begun, with its static time in the clock.
 */
void in_order_begin_block(struct thread *thread);

/* Values whose users are at `index` of the block that runs, or before, are waited for now; there are some. */
void in_order_settle_some(struct thread *thread, unsigned index);

/* Settle, if any user is due. */
static inline void
in_order_settle(struct thread *thread, unsigned index)
{
	if (__builtin_expect(thread->first_user <= index, 0))
		in_order_settle_some(thread, index);
}

#endif
