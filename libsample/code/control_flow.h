/*
 * control_flow.h - the successors of each instruction of a procedure, and the definitions of registers (private to this
 * room)
 *
 * control_flow_init() finds the successors that each instruction alone shows; jump_tables_read() then adds those of
 * indirect jumps. Thread rule: one thread.
 */
#ifndef DCPI_CODE_CONTROL_FLOW_H
#define DCPI_CODE_CONTROL_FLOW_H

#include "code/flow_graph.h"

/* Flags of an instruction: where control goes, whether control enters from outside here, whether a block ends here. */
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

/* Fill in what each instruction alone shows; `list`'s instructions must outlive `flow`. 0, -ENOMEM, -EINVAL, -E2BIG. */
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

/* Whether compilers use the instruction as padding that never runs: nops and traps. */
bool instruction_is_padding(const struct instruction *instruction);

#define DEFINITION_SET_MAX 8

/* A register that is stored to the stack. */
struct stack_spill {
	uint32_t at; /* instruction */
	uint8_t base, reg;
	int64_t offset;
};

struct reaching_defs {
	const struct control_flow *flow;
	uint32_t *firsts;  /* jumps to instruction i come from sources[firsts[i]] to sources[firsts[i + 1] - 1] */
	uint32_t *sources; /* instructions */
	uint32_t *seen;    /* of each instruction: the last search that visited it */
	uint32_t *queue;
	uint32_t search;
	uint64_t steps_left;        /* of all searches */
	struct stack_spill *spills; /* ascending by base and offset; NULL: not looked for yet */
	size_t spill_count;
};

/* The definitions of a register that reach an instruction. */
struct definition_set {
	uint32_t at[DEFINITION_SET_MAX]; /* instructions */
	size_t count;
	bool from_caller; /* the caller may have set it */
	bool from_call;   /* a call may have set it */
	bool is_lost;     /* too many, or too far away */
};

/*
 * Reaching definitions: which instructions may have set a register, and to which constant. A search goes backwards
 * along the control flow that is known so far, which must not change meanwhile. A search that takes too many steps
 * finds nothing, and all searches together have a limited number of steps, so the time is linear in the procedure's
 * size. 0 or -ENOMEM.
 */
int reaching_defs_init(struct reaching_defs *defs, const struct control_flow *flow);
void reaching_defs_fini(struct reaching_defs *defs);

/* The only predecessor of instruction `index`; CONTROL_OUTSIDE when there are several, or none. */
uint32_t reaching_defs_only_source(const struct reaching_defs *defs, uint32_t index);

/* The definitions of `reg` that reach instruction `at`. */
void reaching_defs_find(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct definition_set *definitions);

/*
 * Set *definition to the only definition that reaches `at`. False when there are several, or the caller or a call may
 * have set `reg`.
 */
bool reaching_defs_find_only(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint32_t *definition);

/*
 * The instructions of the procedure that store a register to the stack slot `offset` bytes behind register `base`, in
 * any order, at most `max`. Returns how many.
 */
size_t reaching_defs_spills(struct reaching_defs *defs, uint8_t base, int64_t offset, struct stack_spill *spills,
                            size_t max);

/* If all definitions of `reg` that reach `at` set one constant, set *value to it; else false. */
bool reaching_defs_constant_before(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value);

/* If instruction `at` always sets `reg`, its first operand, to one constant, set *value to it; else false. */
bool reaching_defs_constant_of(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value);

/*
 * Resolve as many CONTROL_INDIRECT as possible: a table that can be read adds its targets, a tail call an exit. The
 * comparison before a jump gives the length of its table; without one, the table ends at the first entry that is no
 * instruction of the procedure, or where another table begins. The forms that gcc and clang use for switches and
 * computed gotos on x86-64 and AArch64 are known: an index into a table of addresses, or of distances from a base, of
 * 1, 2, 4 or 8 bytes; and a label's address in addition to an entry or instead of one. 0 or -ENOMEM.
 */
int jump_tables_read(struct control_flow *flow);

#endif
