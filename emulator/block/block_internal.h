/*
 * block_internal.h - the passes that make a block, besides block.c: dependences of its values, and groups of accesses
 * (private to this folder)
 *
 * Thread rule: under the lock of `struct blocks`.
 */
#ifndef DCPI_EMULATOR_BLOCK_BLOCK_INTERNAL_H
#define DCPI_EMULATOR_BLOCK_BLOCK_INTERNAL_H

#include "code/decoder.h"
#include "emulator/block/arena.h"
#include "emulator/block/block.h"
#include "emulator/block/pipeline_state.h"

/* The instructions of the block that is being made. */
struct block_code {
	enum architecture architecture;
	struct decoder *decoder; /* of `architecture` */
	enum block_callbacks callbacks;
	struct encoded_instruction encoded[BLOCK_INSTRUCTIONS_MAX];
	struct instruction decoded[BLOCK_INSTRUCTIONS_MAX];
};

/* What a value depends on: loads of the block (bit i: load i), and general registers at block entry (bit n). */
struct block_origin {
	uint64_t loads, live;
};

/* The dependences at block entry: each register depends on itself. */
void block_trace_begin(struct block_origin origins[REGISTER_COUNT]);

/*
 * Fill in the block's registers; in order also the first use of each load, out of order the dependences, with memory of
 * `arena`. `origins` must be those of block_trace_begin(), and are so again afterwards. 0 or -ENOMEM.
 */
int block_trace(struct block *block, struct arena *arena, struct block_origin origins[REGISTER_COUNT]);

/* Find the groups of accesses with one base, and the callbacks of the emulator. `cache_line` in bytes; 0: no cache. */
void block_group(struct block *block, const struct block_code *code, unsigned cache_line);

/*
 * In order: true only if the block, after `state`, takes as long and leaves the state that it does after state 0, where
 * `first` is its variant. It makes no schedule, and so it is false for a few states for which this holds.
 */
bool block_is_undelayed(const struct variant *first, const struct pipeline_state *state);

#endif
