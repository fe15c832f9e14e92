/*
 * reaching_defs.h - which instructions may have set a register, and to which constant (private to this room)
 *
 * Searched backwards along the control flow that is known so far. A search that takes too many steps finds nothing, and
 * the steps of all searches are limited: the time is linear in the procedure's size.
 * Thread rule: one thread per struct reaching_defs.
 */
#ifndef DCPI_CODE_REACHING_DEFS_H
#define DCPI_CODE_REACHING_DEFS_H

#include "code/control_flow.h"

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

/* `flow` must not change as long as the definitions are used. 0 or -ENOMEM. */
int reaching_defs_init(struct reaching_defs *defs, const struct control_flow *flow);
void reaching_defs_fini(struct reaching_defs *defs);

/* The only instruction that control comes from to `index`; CONTROL_OUTSIDE when there are several, or none. */
uint32_t reaching_defs_only_source(const struct reaching_defs *defs, uint32_t index);

/* The definitions of `reg` that reach instruction `at`. */
void reaching_defs_find(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct definition_set *definitions);

/* Set *definition to the only one, false when there are several or it is the caller's or a call's. */
bool reaching_defs_find_only(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint32_t *definition);

/* Set *value to what `reg` has before instruction `at`, if all its definitions give it that constant. */
bool reaching_defs_constant_before(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value);

/* Set *value to what instruction `at` gives `reg`, its first operand, if that is always one constant. */
bool reaching_defs_constant_of(struct reaching_defs *defs, uint32_t at, uint8_t reg, uint64_t *value);

#endif
