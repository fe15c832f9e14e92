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
void in_order_reset(struct thread *thread);

/*
 * A block has just begun, with its static time in the clock, while values are waited for: stall for those that the
 * block before uses, and find which of the others this one uses.
 */
void in_order_begin_block(struct thread *thread);

/* Stall for the values that instructions up to `index` of the block that runs use; there is at least one. */
void in_order_settle_some(struct thread *thread, unsigned index);

/* Settle, if any user is due. */
static inline void
in_order_settle(struct thread *thread, unsigned index)
{
	if (__builtin_expect(thread->first_user <= index, 0))
		in_order_settle_some(thread, index);
}

#endif
