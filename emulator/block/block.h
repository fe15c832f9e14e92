/*
 * block.h - a translated block of code and how long it takes, computed once so that executing it costs little
 *
 * A block is the unit of translation of the emulator: consecutive instructions, entered at the first. Its cycles depend
 * on the block before it: in order, results that are not ready and units that are busy carry over; out of order,
 * iterations of a loop overlap. So a block is executed as one of its variants, each with its own schedule
 * (code/schedule.h); the variant before it determines which. The states that carry over are interned
 * (pipeline_state.h), so a chain of variants of any length models the in-order pipeline. A block has at most
 * BLOCK_VARIANTS_MAX variants; beyond that, the variant with the nearest state is used.
 *
 * Thread rule: blocks_add() and blocks_find_variant() lock; the blocks and variants that they return stay until
 * blocks_free(), and any thread may read them. There is no state per thread.
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
#define BLOCK_ALONE            UINT16_MAX /* leader of an access that is in no group */

/* How many bytes of an access one callback of the emulator covers: see struct block_instruction. */
enum block_callbacks {
	BLOCK_CALLBACKS_8,  /* QEMU 7.2 */
	BLOCK_CALLBACKS_16, /* QEMU 10.0 */
};

/* How control leaves a block. */
enum block_end {
	BLOCK_FALLS,    /* into the next block, or a system call */
	BLOCK_BRANCHES, /* conditionally */
	BLOCK_JUMPS,    /* to one place, always */
	BLOCK_JUMPS_INDIRECT,
	BLOCK_CALLS,
	BLOCK_CALLS_INDIRECT,
	BLOCK_RETURNS,
};

/*
 * An instruction: the part that is common to all variants.
 *
 * Callbacks of QEMU 7.2: an access of 8 bytes or less has one callback; an access of 16 or 32 bytes has one for each 8
 * bytes, in ascending order; a pair of registers has one for each register, or each 8 bytes. An instruction that loads
 * and stores has one for the load and then one for the store, also for each element of a repeated string (a plugin that
 * requests loads only, or stores only, gets one callback of an instruction that updates). A prefetch has none. An
 * instruction that reads beyond has callbacks for twice its bytes, or 16 bytes, from its address on. A conditional
 * store (stxr, sc) loads, too.
 * QEMU 10.0 has accesses of 16 bytes (its tcg_gen_qemu_ld_i128()): one of 16 bytes has one callback, one of 32
 * bytes two, a pair of general registers one, a pair of vectors one for each. tests/system/blocks.sh compares all this
 * with the emulator.
 *
 * The accesses of a group use one base register, which does not change between them, or changes by known amounts. A
 * group is at most 64 bytes long (or a line of the cache, if that is shorter), so it touches at most two lines. All its
 * accesses happen whenever the block is executed to its end. Only the first access, the leader, needs callbacks: at
 * each callback with address A, the group touches A + group_from to A + group_to, the last byte not included; the
 * ranges of all callbacks of the leader together are the whole group.
 */
struct block_instruction {
	uint16_t offset; /* from the block's address */
	uint8_t size;
	uint8_t class; /* enum instruction_class */
	uint8_t read_count, write_count;
	uint8_t reads[INSTRUCTION_READS_MAX]; /* as of struct instruction; none if the result does not depend on the
	                                         operands (xor of a register with itself) */
	uint8_t writes[INSTRUCTION_WRITES_MAX];
	uint8_t address_count;     /* how many of `reads`, the last ones, are only used for an address */
	uint8_t load_registers[2]; /* those of `writes` that the load fills; REGISTER_NONE */
	uint8_t access_size;       /* 0: no access, or unknown */
	uint8_t callback_size;     /* bytes of each callback; 0: unknown */
	bool loads : 1, stores : 1, is_atomic : 1;
	bool updates : 1;    /* always loads and then stores its bytes, with one callback each: one of both is enough */
	bool may_access : 1; /* it loads, stores, or may do so: the emulator may call back */
	bool is_blocking : 1;   /* later instructions wait until it is done: barriers, atomics, system calls */
	bool reads_beyond : 1;  /* the emulator loads block_beyond_bytes() instead; it is no leader */
	bool is_used_first : 1; /* in order: `use` comes before any other access to memory, or is one */
	uint16_t use; /* in order: index of the first instruction that reads or writes a register that this one loads;
	                 BLOCK_NOT_USED: none in the block */
	uint16_t leader;              /* index of its group's leader, perhaps its own; BLOCK_ALONE */
	uint16_t next_member;         /* index of the next member of its group, ascending; BLOCK_NOT_USED: none */
	int16_t displacement;         /* of a member: from the leader's address */
	int16_t group_from, group_to; /* of a leader; of an access in no group: 0 and the bytes of one callback */
};

/* Bytes that the emulator loads for an instruction that reads beyond: two whole words or vectors. */
static inline unsigned
block_beyond_bytes(const struct block_instruction *instruction)
{
	return 2u * (instruction->access_size < 8 ? 8 : instruction->access_size);
}

/* Out of order, of an instruction that may access memory: what its address depends on, and what depends on its load. */
struct block_dependence {
	uint64_t address_loads; /* bit i: its address depends on load i of the block (i < 64) */
	uint32_t address_live;  /* general registers (bit n), with their values at block entry, that its address depends
	                           on */
	uint32_t reaches;       /* of a load: general registers (bit n) that depend on it behind the block; a loaded
	                           value depends on its load, and on all that the load's address depends on */
	uint16_t load;          /* index among the block's loads; BLOCK_NOT_USED */
};

/* Whether instruction `index` needs callbacks: it may access memory, and no leader's callbacks cover it. */
static inline bool
block_instruction_is_called_for(const struct block_instruction *instruction, uint16_t index)
{
	return instruction->may_access && (instruction->leader == index || instruction->leader == BLOCK_ALONE);
}

/* Bytes relative to an address, `to` not included; empty if to <= from. */
struct block_span {
	int from, to;
};

/* The bytes of a member's access that one callback of its leader covers, relative to the callback's address. */
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
	uint64_t fall;    /* address behind it, in the guest; where a branch that is not taken goes */
	uint64_t target;  /* of BLOCK_BRANCHES, BLOCK_JUMPS, BLOCK_CALLS; else 0 */
	uint32_t number;  /* in the record, from 1 */
	uint32_t first;   /* number of its first instruction in the record */
	uint16_t count, size;
	uint16_t access_end; /* behind the last instruction that may access memory; 0: none does */
	uint8_t end;         /* enum block_end */
	uint8_t end_size;    /* of its last instruction */
	bool is_in_order;    /* the pipeline is */
	bool repeats;        /* x86: its last instruction has a rep prefix; a block of only that is entered once for
	                        each repetition */
	uint16_t other_live_in, other_writes;   /* live_in and writes of registers from 64 on (bit n: 64 + n) */
	uint64_t live_in;                       /* registers 0 to 63 (bit n) that it reads before it writes them */
	uint64_t writes;                        /* registers 0 to 63 that it writes */
	struct block_instruction *instructions; /* count */
	struct block_dependence *dependences;   /* out of order: of the first access_end instructions */
	uint32_t keeps;                         /* out of order: general registers (bit n) that it does not write */
	uint32_t *reaches; /* out of order: reaches[n] is the set (bit m) of general registers that the block writes and
	                      that depend on the value of register n at block entry; for n up to the highest of
	                      live_in */
};

/* A block as it is executed after some other block. */
struct variant {
	union {
		uint64_t time; /* of one execution without dynamic stalls, in 2^-32 cycles: */
		struct {
			uint32_t fraction; /* 0 in order */
			uint32_t cycles;
		};
	};
	/*
	 * For each instruction, cycles from the block's beginning until it issues (in order) or retires (out of order);
	 * ascending. count + 1 of them, the last is `cycles`. In cycle n, counted from 0, the head of the queue is the
	 * first instruction i with issue_cycles[i] >= n.
	 */
	uint16_t *issue_cycles;
	const struct block *block;
	uint32_t state; /* number of the pipeline state that it leaves; 0 out of order */
	uint32_t lead;  /* out of order: cycles that a whole window of instructions takes at the block's speed */
};

/* Whether any of its instructions reads or writes register `reg` (code/instruction.h). */
static inline bool
block_mentions(const struct block *block, unsigned reg)
{
	if (__builtin_expect(reg < 64, 1))
		return (block->live_in | block->writes) >> reg & 1;
	return (block->other_live_in | block->other_writes) >> (reg - 64) & 1;
}

/*
 * In order: the first instruction that waits for the value of register `reg` (code/instruction.h) from before the
 * block. It is the first that reads or writes the register; BLOCK_NOT_USED: none does.
 */
uint16_t block_first_reader(const struct block *block, unsigned reg);

/*
 * The span from the first to the last byte that stores of the group write, of the bytes that one callback of its leader
 * covers.
 */
struct block_span block_group_stores(const struct block *block, uint16_t leader);

struct blocks; /* all blocks of a process */

/* NULL and errno: ENOMEM, ENOTSUP (no decoder for `machine`, EM_X86_64, EM_AARCH64, EM_RISCV). Copies `pipeline`. */
struct blocks *blocks_new(const struct pipeline *pipeline, uint16_t machine, enum block_callbacks callbacks);
void blocks_free(struct blocks *blocks);

/* Before a fork, and after it in the parent and in the child: no other thread holds the lock in between. */
void blocks_before_fork(struct blocks *blocks);
void blocks_after_fork(struct blocks *blocks);

/*
 * Find or add the block of these bytes at `address`, whose `count` instructions have these sizes: if one with equal
 * number, address and bytes was added before, it is returned. NULL: no memory, or no block (count 0 or over
 * BLOCK_INSTRUCTIONS_MAX).
 */
const struct block *blocks_add(struct blocks *blocks, uint64_t address, const uint8_t *bytes, const uint8_t *sizes,
                               size_t count, uint32_t number, uint32_t first);

/* The variant of a block that is executed first, or after a stall that leaves everything ready. */
const struct variant *blocks_first_variant(const struct blocks *blocks, const struct block *block);

/* The variant of `block` after `before`. Never NULL: without memory, it is some variant of the block. */
const struct variant *blocks_find_variant(struct blocks *blocks, const struct variant *before,
                                          const struct block *block);

/* Number of variants of all blocks. */
size_t blocks_variant_count(const struct blocks *blocks);

#endif
