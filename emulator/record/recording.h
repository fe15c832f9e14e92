/*
 * recording.h - what the timing plugin records of a process, in a file that outlives it
 *
 * The file is laid out as record_file.h says, and holds what was recorded whatever ends the process. After a fork the
 * child has a file of its own, with everything at zero but the clocks.
 * Thread rule: each virtual CPU's record is written by the thread that is it; images and blocks are added by one thread
 * at a time.
 */
#ifndef DCPI_EMULATOR_RECORD_RECORDING_H
#define DCPI_EMULATOR_RECORD_RECORDING_H

#include <stdbool.h>

#include "emulator/record/record_file.h"

struct recording;

/* A record in a new file in `directory`, for the program of this name, from `start_cycles` on. NULL and errno. */
struct recording *recording_new(const char *directory, const char *comm, uint64_t start_cycles);
void recording_free(struct recording *recording); /* the file stays; NULL is allowed */

/* Stalls will be recorded: where those of a block will be is prepared when it is added. Before the first block. */
void recording_expect_stalls(struct recording *recording);

/* Before a fork, while no virtual CPU runs. */
void recording_before_fork(struct recording *recording);

/*
 * In the child of a fork, before anything else is recorded: from now on in a file of its own; memory stays where it is,
 * and what translated code has numbers of keeps them. 0, or -errno: nowhere, memory is only ours.
 */
int recording_fork(struct recording *recording, uint64_t start_cycles);

/* A thread begins as this virtual CPU: its record, the same again for the same one. NULL and errno. */
struct record_vcpu *recording_add_vcpu(struct recording *recording, unsigned vcpu);

/* 0 or -ENOSPC. Images are numbered from 1. */
int recording_add_image(struct recording *recording, const struct record_mmap *file);

/*
 * The number of the block, new or not, and of its first instruction; `block` without sizes. A block without an image is
 * told from others by its address and `bytes` (as many as the sizes' sum). 0 when there is no room for it: it is
 * counted as unrecorded.
 */
uint32_t recording_add_block(struct recording *recording, const struct code_block *block, const uint8_t *sizes,
                             const uint8_t *bytes, uint64_t address, uint32_t *first);

/* How many of its instructions load, store and branch, as in `does`. */
void recording_tell_block(struct recording *recording, uint32_t block, const struct code_block *does);

void recording_not_followed(struct recording *recording); /* a program that is executed without the emulator */
void recording_pass(struct recording *recording);         /* something found no room */

/* The place of a stall that is not where it is looked for first; NULL: none is left. */
struct record_stall *record_stall_find(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, uint32_t reason);

/* Stalls of instructions near each other lie near each other: few pages of a sparse file. */
static inline uint32_t
record_stall_place(uint32_t stalled, uint32_t culprit, uint32_t reason)
{
	return (stalled * 2 + ((stalled - culprit) * 5 + reason * 3) % 8) & (RECORD_STALLS - 1);
}

/* Instruction `stalled` waited so long because of `culprit`. False: that is not where it is looked for first. */
static inline bool
record_stall_add_first(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                       uint64_t cycles)
{
	struct record_stall *stall = &vcpu->stalls[record_stall_place(stalled, culprit, reason)];

	if (__builtin_expect(stall->stalled != stalled || stall->culprit != culprit || stall->reason != reason, 0))
		return false;
	stall->times++;
	stall->cycles += cycles;
	return true;
}

/* The same wherever it is. False when it found no room: tell recording_pass(). */
static inline bool
record_stall_add(struct record_vcpu *vcpu, uint32_t stalled, uint32_t culprit, enum record_reason reason,
                 uint64_t cycles)
{
	struct record_stall *stall;

	if (record_stall_add_first(vcpu, stalled, culprit, reason, cycles))
		return true;
	stall = record_stall_find(vcpu, stalled, culprit, reason);
	if (!stall)
		return false;
	stall->times++;
	stall->cycles += cycles;
	return true;
}

#endif
