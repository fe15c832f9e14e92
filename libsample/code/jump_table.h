/*
 * jump_table.h - where the indirect jumps of a procedure go (private to this room)
 */
#ifndef DCPI_CODE_JUMP_TABLE_H
#define DCPI_CODE_JUMP_TABLE_H

#include "code/code_map.h"

/*
 * Resolve what can be resolved of the map's WAY_INDIRECT: a table that can be read gives ways to its targets, a tail
 * call one out. A table ends where the comparison before its jump says, and without one where an entry is no
 * instruction of the procedure or another table begins. 0 or -ENOMEM.
 */
int jump_tables_read(struct code_map *map);

#endif
