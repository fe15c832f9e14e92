/*
 * waiting.h - in order: the loads whose values are waited for later, by who uses them
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_WAITING_H
#define DCPI_EMULATOR_TIMING_WAITING_H

#include "emulator/block/block.h"
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

/*
 * The only load that is waited for, whose user is known, is waited for now. False: not for its line or its page alone,
 * or not as stall_plainly() does it, and nothing was done.
 */
bool waiting_settle_plainly(struct thread *thread);

/* Whether the block needs a register of the load. */
static inline bool
waiting_is_needed(const struct waiting_load *load, const struct block *block)
{
	return (load->registers[0] != REGISTER_NONE && block_mentions(block, load->registers[0])) ||
	       (load->registers[1] != REGISTER_NONE && block_mentions(block, load->registers[1]));
}

/* The block that runs needs it; it began at `begin`. */
void waiting_add_user(struct thread *thread, struct waiting_load *load, uint64_t begin);

#endif
