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

/* In what pieces the emulator tells of an access: below, of struct block_instruction. */
enum block_callbacks {
	BLOCK_CALLBACKS_8,  /* QEMU 7.2 */
	BLOCK_CALLBACKS_16, /* QEMU 10.0 */
};

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

/*
 * An instruction, whatever the variant.
 *
 * What the emulator calls back for (QEMU 7.2): an access of 8 bytes or less once, one of 16 or 32 bytes once for each 8
 * bytes in ascending order; a pair of registers for each of them, or each 8 bytes; one that loads and stores once for
 * each, in that order, also of a repeated string's element - asked for half of them, once of what updates; a prefetch
 * not at all; and of what reads beyond as much again, or 16 bytes, from where the instruction loads. A conditional
 * store of a locked sequence loads as well. QEMU 10.0 has accesses of 16 bytes (its tcg_gen_qemu_ld_i128()): one of 16
 * bytes calls back once, of 32 bytes twice, a pair of general registers once, of vectors for each of them.
 * tests/system/blocks.sh compares all this with what the emulator does.
 *
 * Accesses of one group go to the same base, which does not change between them, or by amounts that are known; the
 * whole group is 64 bytes long at most (or a line of the cache, if that is shorter) and so touches two lines at most.
 * All are done whenever the block is executed to its end. Only the first, the leader, needs callbacks: at each callback
 * with address A the group touches A + group_from to A + group_to, the last byte not included, and what its callbacks
 * say together is all of it.
 */
struct block_instruction {
	uint16_t offset; /* from the block's address */
	uint8_t size;
	uint8_t class; /* enum instruction_class */
	uint8_t read_count, write_count;
	uint8_t reads[INSTRUCTION_READS_MAX]; /* as of struct instruction, but that what does not depend on its operands
	                                         reads nothing */
	uint8_t writes[INSTRUCTION_WRITES_MAX];
	uint8_t address_count;     /* how many of `reads`, at their end, only make an address */
	uint8_t load_registers[2]; /* of `writes`, that wait for its load; REGISTER_NONE */
	uint8_t access_size;       /* 0: none, or not known */
	uint8_t callback_size;     /* bytes of each callback; 0: not known */
	bool loads : 1, stores : 1, is_atomic : 1;
	bool updates : 1;       /* always loads and then stores the same bytes, in one callback each: one says all */
	bool may_access : 1;    /* it loads, stores, or is not known to do neither: the emulator may call back */
	bool is_blocking : 1;   /* nothing behind it may go on before it is done: barriers, atomics, system calls */
	bool reads_beyond : 1;  /* the emulator loads more, block_beyond_bytes(); it leads nobody */
	bool is_used_first : 1; /* in order: `use` comes before any other access to memory, or is one */
	uint16_t use; /* in order: index of the first instruction of the block that waits for what it loads, to read or
	                 to write the same register; BLOCK_NOT_USED: none */
	uint16_t leader;              /* of its group: its own index if it leads; BLOCK_ALONE */
	uint16_t next_member;         /* the next of its group, in the block's order; BLOCK_NOT_USED: it is the last */
	int16_t displacement;         /* of a member: from the leader's address */
	int16_t group_from, group_to; /* of a leader; of what is alone 0 and what one callback touches */
};

/* What the emulator loads for an instruction that reads beyond: two whole words or vectors. */
static inline unsigned
block_beyond_bytes(const struct block_instruction *instruction)
{
	return 2u * (instruction->access_size < 8 ? 8 : instruction->access_size);
}

/* Out of order: what an instruction that may access memory waits for, and who waits for it. */
struct block_dependence {
	uint64_t address_loads;    /* bit i: load i of the block is behind its address (i < 64) */
	const struct block *block; /* that it is of */
	uint32_t address_live;     /* and general registers (bit n), as they were when the block was entered */
	uint32_t reaches; /* of a load: general registers (bit n) that are made of it behind the block; what was
	                     loaded is made of its load, and of all that its address is */
	uint16_t load;    /* its place among the block's loads; BLOCK_NOT_USED */
	uint16_t index;   /* the instruction's */
};

/* Whether instruction `index` has a callback for what it accesses. */
static inline bool
block_instruction_is_called_for(const struct block_instruction *instruction, uint16_t index)
{
	return instruction->may_access && (instruction->leader == index || instruction->leader == BLOCK_ALONE);
}

/* From an address on, the last not included; none if they end before they begin. */
struct block_span {
	int from, to;
};

/* Of what a member accesses, the bytes that a callback of its leader tells of, from that one's address on. */
static inline struct block_span
block_member_bytes(const struct block_instruction *leader, const struct block_instruction *member)
{
	const int from = member->displacement, to = from + member->access_size;

	return (struct block_span){
		.from = from > leader->group_from ? from : leader->group_from,
		.to = to < leader->group_to ? to : leader->group_to,
	};
}

struct block {
	uint64_t address; /* in the guest */
	uint64_t fall;    /* behind it, in the guest; where a branch that is not taken goes */
	uint64_t target;  /* BLOCK_BRANCHES, BLOCK_JUMPS, BLOCK_CALLS: where to; else 0 */
	uint32_t number;  /* of the record's block, from 1 */
	uint32_t first;   /* of the record's instructions */
	uint16_t count, size;
	uint16_t access_end; /* behind the last instruction that may access memory; 0: none does */
	uint8_t end;         /* enum block_end */
	uint8_t end_size;    /* of its last instruction */
	bool is_in_order;    /* of the pipeline */
	bool repeats;        /* x86: its last instruction is a string's; a block of that alone is entered once for
	                        each time it repeats */
	uint16_t other_live_in, other_writes;   /* as the next two: registers from 64 on (bit n: 64 + n) */
	uint64_t live_in;                       /* registers 0 to 63 (bit n) that it reads before it writes them */
	uint64_t writes;                        /* that it writes */
	struct block_instruction *instructions; /* count */
	struct block_dependence *dependences;   /* out of order: of the first access_end instructions */
	uint32_t keeps;                         /* out of order: general registers (bit n) that it does not write */
	uint32_t *reaches; /* out of order: of the general registers that it reads, as they were before it:
	                      those (bit n) that it writes and that are made of it; [n] of register n */
};

#define VARIANT_WAITS_LATER INT32_MIN /* no miss takes as long: what it takes beyond a hit may be added */

/* In order, a load of a variant whose first user comes before any other access to memory. */
struct variant_load {
	int32_t issue; /* cycles from the block's end until it issues: 0 or less */
	int32_t wait;  /* from its first user's issue until what hits in level 1 is there: mostly 0 or less;
	                  VARIANT_WAITS_LATER: it is no such load */
};

/* A block as it is executed behind something. */
struct variant {
	union {
		uint64_t time; /* that one execution takes, without dynamic stalls, in 2^-32 cycles: */
		struct {
			uint32_t fraction; /* in order 0 */
			uint32_t cycles;
		};
	};
	/*
	 * Of each instruction: cycles from the block's beginning until it issues (in order), or retires (out of order);
	 * ascending. count + 1 of them, the last is `cycles`. At the head of the queue in cycle n, from 0 on, is the
	 * first with issue_cycles[i] >= n.
	 */
	uint16_t *issue_cycles;
	const struct block *block;
	uint32_t state; /* what it leaves to the next, a number */
	uint32_t lead;  /* out of order: how long the window lasts at its speed, in cycles */
};

/* In order: of instruction `index`, below access_end; they are before issue_cycles, backwards. */
static inline struct variant_load *
variant_load(const struct variant *variant, unsigned index)
{
	return (struct variant_load *)(void *)variant->issue_cycles + ~(intptr_t)index;
}

/* Whether any of its instructions reads or writes register `reg` (code/instruction.h). */
static inline bool
block_mentions(const struct block *block, unsigned reg)
{
	if (__builtin_expect(reg < 64, 1))
		return (block->live_in | block->writes) >> reg & 1;
	return (block->other_live_in | block->other_writes) >> (reg - 64) & 1;
}

/*
 * In order, the first instruction that waits for what register `reg` (code/instruction.h) held before the block: who
 * reads or writes it; BLOCK_NOT_USED.
 */
uint16_t block_first_reader(const struct block *block, unsigned reg);

/* The first to the last byte that stores of the group write, of those that a callback of its leader tells of. */
struct block_span block_group_stores(const struct block *block, uint16_t leader);

struct blocks; /* all of a process */

/* NULL and errno: ENOMEM, ENOTSUP (no decoder for `machine`, EM_X86_64, EM_AARCH64, EM_RISCV). Copies `pipeline`. */
struct blocks *blocks_new(const struct pipeline *pipeline, uint16_t machine, enum block_callbacks callbacks);
void blocks_free(struct blocks *blocks);

/* Around a fork, in the parent and in the child: so that no other thread is inside. */
void blocks_before_fork(struct blocks *blocks);
void blocks_after_fork(struct blocks *blocks);

/*
 * The block of these bytes at `address`, whose `count` instructions have these sizes; the same again when it was added
 * before with this number, address and bytes. NULL: no memory, or no block (count 0 or over BLOCK_INSTRUCTIONS_MAX).
 */
const struct block *blocks_add(struct blocks *blocks, uint64_t address, const uint8_t *bytes, const uint8_t *sizes,
                               size_t count, uint32_t number, uint32_t first);

/* What is executed first, or behind a stall that made everything ready. */
const struct variant *blocks_first_variant(const struct blocks *blocks, const struct block *block);

/* `block` behind `before`. Never NULL: without memory some variant of it. */
const struct variant *blocks_find_variant(struct blocks *blocks, const struct variant *before,
                                          const struct block *block);

/* How many variants there are, of all blocks. */
size_t blocks_variant_count(const struct blocks *blocks);

#endif
