/*
 * core.h - the cost of a miss on the target's core
 *
 * In order, the instruction that needs a value waits for it, not the load. Out of order, a load that missed holds up
 * retirement, except for the time that the reorder buffer hides: it was issued earlier by that time, unless its address
 * depends on other missing loads, or all MSHRs were in use. docs/emulation.md says more.
 *
 * Thread rule: each thread for itself.
 */
#ifndef DCPI_EMULATOR_TIMING_CORE_H
#define DCPI_EMULATOR_TIMING_CORE_H

#include "emulator/timing/thread.h"
#include "emulator/timing/timing.h"

/* When instruction `index` of the running block is at the head of the queue, with all stalls so far. */
static inline uint64_t
core_time(const struct thread *thread, unsigned index)
{
	return thread_clock(thread) - thread->edge->variant.cycles + thread->edge->variant.issue_cycles[index];
}

/* When the store of instruction `index` would request its line if it misses: it is in the write buffer by then. */
static inline uint64_t
core_store_begins(const struct thread *thread, unsigned index)
{
	const uint64_t now = core_time(thread, index), begins = now > thread->store_room ? now : thread->store_room;

	return begins > thread->store_mshr_free_at ? begins : thread->store_mshr_free_at;
}

/*
 * In order: stall for the values that instructions up to `index` of the running block use; there must be at least one.
 */
void core_settle_users(struct thread *thread, unsigned index);

/* core_settle_users(), if there are such values. */
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

/* A thread begins: there was no stall, nothing is in flight, and the write buffer is empty. */
void core_begin(struct thread *thread);

/* Make all MSHRs of the machine free. */
void core_reset_mshrs(struct thread *thread);

/*
 * In order, if instructions wait for values: a block has just begun, and its static time is in the clock. Stall for the
 * values that the block before uses, and find which of the others this block uses.
 */
void core_begin_block(struct thread *thread);

/*
 * The load, or the store, of instruction `index` of the running block missed something. Returns what it costs, in
 * cycles: that the core stalls for the load, now or later; by which the store delays the end of the write buffer.
 */
uint64_t core_load_missed(struct thread *thread, unsigned index, const struct access_result *result);
uint64_t core_store_missed(struct thread *thread, unsigned index, const struct access_result *result);

/* Instruction `index` of the running block is at the head, and stalls for `cycles`, not 0. */
void core_stall(struct thread *thread, unsigned index, uint32_t culprit, enum record_reason reason, uint64_t cycles);

/*
 * A fetch missed, or a branch was mispredicted, before a block, whose first instruction is `instruction`, or which is
 * entered by `edge`: its static time is not in the clock yet.
 */
void core_fetch_missed(struct thread *thread, uint32_t instruction, const struct access_result *result);
void core_mispredicted(struct thread *thread, struct edge *edge);

/* After a system call: everything is ready, and nothing is known of the blocks before. */
void core_restart(struct thread *thread);

/*
 * Accesses that are not in the hit filter: look them up in the caches, count misses, and stall for them. A signal
 * handler may return into the middle of a block that was left; such accesses belong to no known instruction and are
 * ignored.
 */

/* An instruction's access to `size` bytes; or its load and then store of these bytes. */
void core_access_bytes(struct thread *thread, const struct access *access, uint64_t address, unsigned size,
                       bool is_store);
void core_access_update(struct thread *thread, const struct access *access, uint64_t address, unsigned size);

/* The part of a group (block.h) that one callback of its leader, at `address`, covers. */
void core_access_group(struct thread *thread, const struct access *access, uint64_t address);

#endif
