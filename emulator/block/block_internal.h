/*
 * block_internal.h - the passes that make a block, besides block.c: where its values come from, which accesses are of a
 * group (private to this folder)
 *
 * Thread rule: under the lock of `struct blocks`.
 */
#ifndef DCPI_EMULATOR_BLOCK_BLOCK_INTERNAL_H
#define DCPI_EMULATOR_BLOCK_BLOCK_INTERNAL_H

#include "code/decoder.h"
#include "emulator/block/arena.h"
#include "emulator/block/block.h"
#include "emulator/block/pipeline_state.h"

/* The instructions of the block that is made. */
struct block_code {
	enum architecture architecture;
	struct decoder *decoder; /* of `architecture` */
	enum block_callbacks callbacks;
	struct encoded_instruction encoded[BLOCK_INSTRUCTIONS_MAX];
	struct instruction decoded[BLOCK_INSTRUCTIONS_MAX];
};

/* What a value depends on: loads of the block (bit i: load i) and general registers as before it (bit n). */
struct block_origin {
	uint64_t loads, live;
};

/* What registers depend on before a block: each on itself. */
void block_trace_begin(struct block_origin origins[REGISTER_COUNT]);

/*
 * Fill in the block's registers, and in order the first use of each load, else dependences, from `arena`. `origins` are
 * as of block_trace_begin(), before and after. 0 or -ENOMEM.
 */
int block_trace(struct block *block, struct arena *arena, struct block_origin origins[REGISTER_COUNT]);

/* Find the accesses that go to one base, and what the emulator calls back for. `cache_line` in bytes; 0: no cache. */
void block_group(struct block *block, const struct block_code *code, unsigned cache_line);

/*
 * In order: true only if the block takes as long, and leaves the same state, behind `state` as behind state 0, of which
 * `first` is its variant. Needs no schedule, so that it is false of a few such states.
 */
bool block_is_undelayed(const struct variant *first, const struct pipeline_state *state);

#endif
