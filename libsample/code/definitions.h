/*
 * definitions.h - where a register got the value that it has at an instruction (private to this room)
 *
 * Against the flow that is known so far, as far as it leads. A search that takes too many steps finds nothing: with all
 * of them together the time is linear in the procedure's size.
 * Thread rule: one thread per tracer.
 */
#ifndef DCPI_CODE_DEFINITIONS_H
#define DCPI_CODE_DEFINITIONS_H

#include "code/code_map.h"

#define DEFINITIONS_MAX 8

/* A register that is put on the stack. */
struct spill {
	uint32_t at; /* instruction */
	uint8_t base, reg;
	int64_t offset;
};

struct tracer {
	const struct code_map *map;
	uint32_t *firsts;  /* who jumps to instruction i: sources[firsts[i]] to sources[firsts[i + 1] - 1] */
	uint32_t *sources; /* instructions */
	uint32_t *seen;    /* of each instruction: the last search that came by */
	uint32_t *queue;
	uint32_t search;
	uint64_t steps_left;  /* of all searches */
	struct spill *spills; /* ascending by base and offset; NULL: they were not looked for */
	size_t spill_count;
};

/* What may have set a register. */
struct definitions {
	uint32_t at[DEFINITIONS_MAX]; /* instructions */
	size_t count;
	bool from_caller; /* it was never set */
	bool from_call;   /* a call set it */
	bool is_lost;     /* too many, or too far away */
};

/* For a map whose ways do not change as long as the tracer is used. 0 or -ENOMEM. */
int tracer_init(struct tracer *tracer, const struct code_map *map);
void tracer_fini(struct tracer *tracer);

/* The only instruction that control comes from to `index`; CODE_OUTSIDE when there are several, or none. */
uint32_t tracer_only_source(const struct tracer *tracer, uint32_t index);

/* Whether instruction `index`, or what it calls, changes register `reg`. */
bool instruction_changes(const struct code_map *map, uint32_t index, uint8_t reg);

/* What set `reg` before instruction `at`. */
void tracer_definitions(struct tracer *tracer, uint32_t at, uint8_t reg, struct definitions *definitions);

/* The one instruction that set it, false when there are more or other ways. */
bool tracer_definition(struct tracer *tracer, uint32_t at, uint8_t reg, uint32_t *definition);

/* The value of `reg` before instruction `at`, when it is the same whatever way was taken. */
bool tracer_constant(struct tracer *tracer, uint32_t at, uint8_t reg, uint64_t *value);

/* The value that instruction `at` gives `reg`, its first operand, when it is always the same. */
bool tracer_made_constant(struct tracer *tracer, uint32_t at, uint8_t reg, uint64_t *value);

#endif
