/*
 * core.h - what a miss costs on the target's core
 *
 * In order, an instruction that needs a value waits for it; loads themselves do not. Out of order, a
 * load that missed holds up retirement as far as the reorder buffer does not hide it: it was issued that much earlier,
 * unless its address is made of what other missing loads bring, or as many as the core may have were in flight.
 * docs/emulation.md says more.
 *
 * Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_H
#define DCPI_EMULATOR_TIMING_CORE_H

#include "emulator/timing/thread.h"
#include "emulator/timing/timing.h"

/* When instruction `index` of the block that runs is at the head, with all stalls so far. */
static inline uint64_t
core_time(const struct thread *thread, unsigned index)
{
	return thread_clock(thread) - thread->edge->variant.cycles + thread->edge->variant.issue_cycles[index];
}

/* When the store of instruction `index` asks for its line, should it miss: the write buffer has it by then. */
static inline uint64_t
core_store_begins(const struct thread *thread, unsigned index)
{
	const uint64_t now = core_time(thread, index), begins = now > thread->store_room ? now : thread->store_room;

	return begins > thread->store_mshr_free_at ? begins : thread->store_mshr_free_at;
}

/* In order: stall for the values that instructions up to `index` of the block that runs use; there is at least one. */
void core_settle_users(struct thread *thread, unsigned index);

/* In order: stall for the values that they use, if there are any. */
static inline void
core_settle_until(struct thread *thread, unsigned index)
{
	if (__builtin_expect(thread->first_user <= index, 0))
		core_settle_users(thread, index);
}

static inline void
core_settle(struct thread *thread)
{
	core_settle_until(thread, BLOCK_INSTRUCTIONS_MAX);
}

/* A thread begins: no stall was, nothing is in flight, and the write buffer is empty. */
void core_begin(struct thread *thread);

/* All MSHRs are free, and as many as the machine has. */
void core_reset_mshrs(struct thread *thread);

/*
 * In order, while values are waited for, a block has just begun, with its static time in the clock: stall for those
 * that the block before uses, and find which of the others this one uses.
 */
void core_begin_block(struct thread *thread);

/* Of the block that runs: the load of instruction `index` missed something; its store. */
void core_load_missed(struct thread *thread, unsigned index, const struct access_result *result);
void core_store_missed(struct thread *thread, unsigned index, const struct access_result *result);

/* Instruction `index` of the block that runs is at the head, and holds everything up for `cycles`, not 0. */
void core_stall(struct thread *thread, unsigned index, uint32_t culprit, enum record_reason reason, uint64_t cycles);

/*
 * Before a block, whose first instruction it is, or which is entered by `edge`: its static time is not in the clock
 * yet. Code that was not there, and a branch that went another way.
 */
void core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result);
void core_mispredicted(struct thread *thread, struct edge *edge);

/* Everything is ready, and nothing is known of what was before: behind a system call. */
void core_restart(struct thread *thread);

/*
 * Accesses that the hit filter does not know: looked up in the caches, misses counted and stalled for. A signal handler
 * may return into the middle of a block that was left; such accesses belong to no known instruction and are ignored.
 */

/* An instruction's own access to `size` bytes; the same bytes loaded and then stored. */
void core_access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size,
                       bool is_store);
void core_access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size);

/* The part of a group (block.h) that one callback of its leader, at `address`, covers. */
void core_access_group(struct thread *thread, const struct access *access, uint64_t address);

#endif
