/*
 * recording.h - what the timing plugin records of a process, in a file that outlives it
 *
 * The file is laid out as record_file.h says, and keeps everything however the process ends. After a fork the child has
 * a file of its own, with everything at zero except the clocks.
 * Thread rule: the record of a virtual CPU is written by its thread; one thread at a time adds images and blocks.
 */
#ifndef DCPI_EMULATOR_RECORD_RECORDING_H
#define DCPI_EMULATOR_RECORD_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "emulator/record/record_file.h"

struct recording;

/* Record in a new file in `directory`, for the program of this name, from `start_cycles` on. NULL and errno. */
struct recording *recording_new(const char *directory, const char *comm, uint64_t start_cycles);
void recording_free(struct recording *recording); /* the file stays; NULL is allowed */

/* The file, to add images, and to count what has no room. */
struct process_file *recording_file(struct recording *recording);

/*
 * Stalls will be recorded: adding a block then populates the memory for its stalls. To be called before the first
 * block.
 */
void recording_expect_stalls(struct recording *recording);

/* Before a fork, while no virtual CPU runs. */
void recording_before_fork(struct recording *recording);

/* process_file_fork(); virtual CPUs stay at their addresses. */
int recording_fork(struct recording *recording, uint64_t start_cycles);

/*
 * A thread begins as this virtual CPU: returns its record, which later threads with this number share. NULL and errno.
 */
struct record_vcpu *recording_add_vcpu(struct recording *recording, unsigned vcpu);

/*
 * Find or add a block (`block` is without sizes). Returns its number, and in *first that of its first instruction. A
 * block without an image is identified by its address and `bytes` (as many as the sum of the sizes). 0 when there is no
 * room for it: it is counted as unrecorded.
 */
uint32_t recording_add_block(struct recording *recording, const struct code_block *block, const uint8_t *sizes,
                             const uint8_t *bytes, uint64_t address, uint32_t *first);

/* Record how many of the block's instructions load, store and branch, as in `does`. */
void recording_describe_block(struct recording *recording, uint32_t block, const struct code_block *does);

/* The slot of a stall, added if there was none; NULL: no slot is left. */
struct record_stall *record_stall_find(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, uint32_t reason);

/* The first slot of a search. Stalls of neighbouring instructions are near each other, on few pages of the file. */
static inline uint32_t
record_stall_place(uint32_t stalled, uint32_t culprit, uint32_t reason)
{
	return (stalled * 2 + ((stalled - culprit) * 5 + reason * 3) % 8) & (RECORD_STALLS - 1);
}

/* The instruction that waited, and the one that it waited for: the first fields of record_stall. */
struct record_pair {
	uint32_t stalled, culprit;
};

_Static_assert(offsetof(struct record_stall, stalled) == 0 && offsetof(struct record_stall, culprit) == 4,
               "a stall's instructions are compared at once");

/* Whether the slot has this pair and reason. `pair` is in memory, so that both its fields are compared at once. */
static inline bool
record_stall_is(const struct record_stall *stall, const struct record_pair *pair, uint32_t reason)
{
	return __builtin_expect(memcmp(stall, pair, sizeof(*pair)) == 0 && stall->reason == reason, 1);
}

/* The slot that is `bytes` behind the first one. */
static inline struct record_stall *
record_stall_at(struct record_vcpu *vcpu, uint32_t bytes)
{
	return (struct record_stall *)((uint8_t *)vcpu->stalls + bytes);
}

static inline uint32_t
record_stall_bytes(const struct record_vcpu *vcpu, const struct record_stall *stall)
{
	return (uint32_t)((const uint8_t *)stall - (const uint8_t *)vcpu->stalls);
}

static inline void
record_stall_count(struct record_stall *stall, uint64_t cycles)
{
	stall->times++;
	stall->cycles += cycles;
}

/* Add a stall to its slot. False: no slot is left; the caller calls process_file_count_unrecorded(). */
static inline bool
record_stall_add(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                 uint64_t cycles)
{
	struct record_stall *stall = record_stall_find(vcpu, stalled, culprit, reason);

	if (stall)
		record_stall_count(stall, cycles);
	return stall;
}

#endif
