/*
 * code_map.h - where control goes from each instruction of a procedure (private to this room)
 */
#ifndef DCPI_CODE_CODE_MAP_H
#define DCPI_CODE_CODE_MAP_H

#include "code/flow_graph_build.h"

/* Flags of an instruction; without WAY_ENDS, control goes to the next. */
enum way {
	WAY_FALL = 1 << 0,     /* to the next instruction */
	WAY_TAKEN = 1 << 1,    /* to targets[] */
	WAY_EXIT = 1 << 2,     /* out of the procedure */
	WAY_NORETURN = 1 << 3, /* nowhere */
	WAY_INDIRECT = 1 << 4, /* a jump that is not resolved */
	WAY_TABLE = 1 << 5,    /* to what table_ways say */
	WAY_ENTERED = 1 << 6,  /* from outside to here */
	WAY_ENDS = 1 << 7,     /* a block ends behind it */
};

struct table_way {
	uint32_t from, to; /* instructions */
};

struct code_map {
	const struct flow_source *source;
	struct decoder *decoder; /* NULL: operands are not known */
	const struct instruction *instructions;
	uint32_t count;
	uint32_t part_firsts[FLOW_PARTS_MAX + 1]; /* instructions of part p: part_firsts[p] to part_firsts[p + 1] - 1 */
	uint8_t *ways;                            /* enum way, of each instruction */
	uint32_t *targets;                        /* instructions, where WAY_TAKEN */
	struct table_way *table_ways;             /* ascending once jump_tables_read() is done */
	size_t table_way_count, table_way_capacity;
	uint32_t table_jumps, pointer_jumps;
	bool is_torn; /* a branch goes into the middle of an instruction */
};

#define CODE_OUTSIDE UINT32_MAX
#define CODE_INSIDE  (UINT32_MAX - 1) /* in the middle of an instruction */

/* Follow every instruction's direct ways; `instructions` must outlive the map. 0, -ENOMEM, -EINVAL. */
int code_map_init(struct code_map *map, const struct instruction_list *list, struct decoder *decoder,
                  const struct flow_source *source);
void code_map_fini(struct code_map *map);

/* The instruction that begins at `address`, CODE_INSIDE or CODE_OUTSIDE. */
uint32_t code_map_find(const struct code_map *map, uint64_t address);

/* The operands of instruction `index`. False when they are not known. */
bool code_map_detail(const struct code_map *map, uint32_t index, struct instruction_detail *detail);

/* Whether a call of `address` comes back, as far as is known. */
bool code_map_returns(const struct code_map *map, uint64_t address);

/* What compilers put where nothing runs. */
bool instruction_is_padding(const struct instruction *instruction);

#endif
