/*
 * block.h - what a translated block of code takes, prepared once so that executing it costs little
 *
 * A block is what the emulator translates at once: instructions that follow one another, entered at the first. What it
 * takes depends on what ran before it: in order, results that are not ready and units that are busy carry over; out of
 * order, a loop's own iterations overlap. So a block is executed as one of its variants, each with its own schedule
 * (code/schedule.h), found from the variant before it. States that carry over are interned: the chain of variants is
 * the in-order pipeline's history without an end. A block has at most BLOCK_VARIANTS_MAX; then the nearest is taken.
 *
 * Thread rule: blocks_add() and blocks_find_variant() lock; what they gave stays until blocks_free() and may be read by
 * any thread. What is per thread is not here.
 */
#ifndef DCPI_EMULATOR_BLOCK_BLOCK_H
#define DCPI_EMULATOR_BLOCK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/pipeline.h"

#define BLOCK_VARIANTS_MAX     16
#define BLOCK_INSTRUCTIONS_MAX 512 /* the emulator's own limit */
#define BLOCK_NOT_USED         UINT16_MAX
#define BLOCK_ALONE            UINT16_MAX /* of an access: it is of no group */

/* How control leaves it. */
enum block_end {
	BLOCK_FALLS,    /* into the next block, or a system call */
	BLOCK_BRANCHES, /* conditionally */
	BLOCK_JUMPS,    /* always to the same place */
	BLOCK_JUMPS_INDIRECT,
	BLOCK_CALLS,
	BLOCK_CALLS_INDIRECT,
	BLOCK_RETURNS,
};

/* An instruction, whatever the variant. */
struct block_instruction {
	uint16_t offset; /* from the block's address */
	uint8_t size;
	uint8_t class;         /* enum instruction_class */
	uint8_t load_register; /* that its load makes; REGISTER_NONE */
	uint8_t address_count;
	uint8_t addresses[2]; /* registers that its access' address is made of, before it */
	uint16_t use; /* index of the first instruction of the block that needs what it loads; BLOCK_NOT_USED: none */
	uint64_t address_loads; /* bit i: load i of the block is behind its address (i: its place among the loads, < 64)
	                         */
	uint64_t address_live; /* general registers (bit n), as they were when the block was entered, behind its address
	                        */
	/*
	 * Accesses of one group go to the same base, which does not change between them: at `from` to `to` bytes from
	 * the first one's address. Only the first needs a callback; `leader` is its index.
	 */
	uint16_t leader;
	int16_t group_from, group_to; /* of a leader: of the whole group; 0, its size: it is alone */
	int16_t displacement;         /* of a member: from the leader's address */
	uint8_t access_size;
	bool loads, stores, is_atomic;
	bool is_blocking; /* nothing behind it may go on before it is done: barriers, atomics, system calls */
};

struct block {
	uint64_t address; /* in the guest */
	uint64_t fall;    /* behind it, in the guest; where a branch that is not taken goes */
	uint64_t target;  /* BLOCK_BRANCHES, BLOCK_JUMPS, BLOCK_CALLS: where to; else 0 */
	uint32_t number;  /* of the record's block, from 1 */
	uint32_t first;   /* of the record's instructions */
	uint16_t count, size;
	uint8_t end;      /* enum block_end */
	bool repeats;     /* x86: its one instruction is a string's, entered once for each time it repeats */
	uint64_t live_in; /* general registers that it reads before it writes them */
	uint64_t writes;  /* general registers that it writes */
	uint64_t vector_live_in, vector_writes;
	struct block_instruction *instructions; /* count */
};

/* A block as it is executed behind something. */
struct variant {
	const struct block *block;
	struct variant *next[2]; /* that were taken most recently behind it; atomically */
	uint32_t cycles;         /* that one execution takes, without dynamic stalls */
	uint32_t state;          /* what it leaves to the next, a number */
	uint16_t *issue_cycles; /* of each instruction: cycles from the block's beginning until it issues (in order), or
	                           retires (out of order); ascending; count + 1, the last is `cycles` */
};

/* The first instruction that reads what register `reg` (code/instruction.h) held before the block; BLOCK_NOT_USED. */
uint16_t block_first_reader(const struct block *block, unsigned reg);

/*
 * What general register `reg` is made of behind the block: loads of it (bit i: load i, < 64) and general registers as
 * they were before it (bit n). A register that it does not write is made of itself.
 */
void block_origin(const struct block *block, unsigned reg, uint64_t *loads, uint64_t *live);

struct blocks; /* all of a process */

/* NULL and errno: ENOMEM, ENOTSUP (no decoder for `machine`, EM_X86_64, EM_AARCH64, EM_RISCV). */
struct blocks *blocks_new(const struct pipeline *pipeline, uint16_t machine);
void blocks_free(struct blocks *blocks);

/*
 * The block of these bytes at `address`, whose `count` instructions have these sizes; the same again when it was added
 * before with this number. NULL: no memory.
 */
const struct block *blocks_add(struct blocks *blocks, uint64_t address, const uint8_t *bytes, const uint8_t *sizes,
                               size_t count, uint32_t number, uint32_t first);

/* What is executed first, or behind a stall that made everything ready. */
struct variant *blocks_first_variant(struct blocks *blocks, const struct block *block);

/* `block` behind `before`; remembered in before->next. Never NULL: without memory some variant of it. */
struct variant *blocks_find_variant(struct blocks *blocks, struct variant *before, const struct block *block);

static inline struct variant *
variant_enter(struct blocks *blocks, struct variant *before, const struct block *block)
{
	struct variant *next = __atomic_load_n(&before->next[0], __ATOMIC_RELAXED);

	if (__builtin_expect(next && next->block == block, 1))
		return next;
	next = __atomic_load_n(&before->next[1], __ATOMIC_RELAXED);
	if (next && next->block == block)
		return next;
	return blocks_find_variant(blocks, before, block);
}

#endif
