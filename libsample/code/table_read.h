/*
 * table_read.h - what the tables of indirect jumps hold (private to this room)
 */
#ifndef DCPI_CODE_TABLE_READ_H
#define DCPI_CODE_TABLE_READ_H

#include "code/code_map.h"
#include "code/jump_form.h"

/* A table, or a label, that a jump goes through. */
struct table {
	struct jump_form form;
	uint32_t jump;
	uint32_t bound;   /* entries; 0: not known */
	bool is_compared; /* `bound` is what the program compares with */
};

struct reading {
	struct code_map *map;
	struct table *tables; /* of this round */
	size_t table_count, table_capacity;
	uint64_t *addresses; /* of all tables that were found, ascending when tables are read */
	size_t address_count, address_capacity;
	uint32_t *marks; /* of each instruction: the last jump that went there */
	uint32_t mark;
	uint64_t reads_left;
	bool *joined; /* of each instruction: a jump that has labels or many tables, to which later rounds may add */
};

/* A jump out of the procedure, through a pointer to a function that returns or does not. */
void jump_is_pointer(struct code_map *map, uint32_t jump, bool returns);

/*
 * Read all that a jump may go through: tables[first] to tables[end - 1]. It stays unresolved when one of them is none
 * after all. 0 or -ENOMEM.
 */
int jump_read(struct reading *reading, size_t first, size_t end);

/* Joined jumps are not resolved again: what was found since may lead to them with other values. */
void joined_forget(struct reading *reading);

#endif
