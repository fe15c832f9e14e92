/*
 * control_flow.h - where control goes from each instruction of a procedure (private to this room)
 *
 * Known from each instruction alone, first; code/jump_tables.h then adds where indirect jumps go. Thread rule: one
 * thread.
 */
#ifndef DCPI_CODE_CONTROL_FLOW_H
#define DCPI_CODE_CONTROL_FLOW_H

#include "code/flow_graph.h"

/* Flags of an instruction: where control goes from it, whether it comes from outside, whether it ends a block. */
enum control_flag {
	CONTROL_FALL = 1 << 0,     /* to the next instruction */
	CONTROL_TAKEN = 1 << 1,    /* to targets[] */
	CONTROL_EXIT = 1 << 2,     /* out of the procedure */
	CONTROL_NORETURN = 1 << 3, /* nowhere: a call that does not return, a trap */
	CONTROL_INDIRECT = 1 << 4, /* a jump that is not resolved */
	CONTROL_TABLE = 1 << 5,    /* to the targets of a jump table, in table_targets */
	CONTROL_ENTERED = 1 << 6,  /* control comes here from outside */
	CONTROL_ENDS = 1 << 7,     /* the last of a block */
};

/* An indirect jump and one of the instructions that its table leads to. */
struct table_target {
	uint32_t from, to; /* instructions */
};

struct control_flow {
	const struct flow_source *source;
	struct decoder *decoder; /* NULL: operands are not known */
	const struct instruction *instructions;
	uint32_t count;
	uint32_t part_firsts[FLOW_PARTS_MAX + 1]; /* instructions of part p: part_firsts[p] to part_firsts[p + 1] - 1 */
	uint8_t *flags;                           /* enum control_flag, of each instruction */
	uint32_t *targets;                        /* instructions, where CONTROL_TAKEN */
	struct table_target *table_targets;       /* ascending once jump_tables_read() is done */
	size_t table_target_count, table_target_capacity;
	uint32_t table_jumps, pointer_jumps;
	bool has_split_target; /* a branch goes into the middle of an instruction */
};

#define CONTROL_OUTSIDE UINT32_MAX
#define CONTROL_INSIDE  (UINT32_MAX - 1) /* in the middle of an instruction */

/* Fill in what each instruction says; `list`'s instructions must outlive `flow`. 0, -ENOMEM, -EINVAL, -E2BIG. */
int control_flow_init(struct control_flow *flow, const struct instruction_list *list, struct decoder *decoder,
                      const struct flow_source *source);
void control_flow_fini(struct control_flow *flow);

/* The instruction that begins at `address`, CONTROL_INSIDE or CONTROL_OUTSIDE. */
uint32_t control_flow_find(const struct control_flow *flow, uint64_t address);

/* The operands of instruction `index`. False when they are not known. */
bool control_flow_detail(const struct control_flow *flow, uint32_t index, struct instruction_detail *detail);

/* Whether instruction `index`, or the procedure that it calls, changes register `reg`. */
bool control_flow_changes(const struct control_flow *flow, uint32_t index, uint8_t reg);

/* Whether `reg` is the stack or the frame pointer. */
bool control_flow_is_stack(const struct control_flow *flow, uint8_t reg);

/* Whether a call of `address` comes back, as far as is known. */
bool control_flow_call_returns(const struct control_flow *flow, uint64_t address);

/* Whether compilers use it as filling where nothing runs: nops and traps. */
bool instruction_is_padding(const struct instruction *instruction);

#endif
