/*
 * jump_tables.h - where the indirect jumps of a procedure go (private to this room)
 *
 * The forms that are known are those that gcc and clang give switches and computed gotos on x86-64 and AArch64: an
 * index into a table of addresses, or of distances from a base, of 1, 2, 4 or 8 bytes; and a label's address beside or
 * instead of an entry.
 */
#ifndef DCPI_CODE_JUMP_TABLES_H
#define DCPI_CODE_JUMP_TABLES_H

#include "code/control_flow.h"

/*
 * Resolve what can be resolved of CONTROL_INDIRECT: a table that can be read adds its targets, a tail call an exit. A
 * table ends where the comparison before its jump says, and without one where an entry is no instruction of the
 * procedure or another table begins. 0 or -ENOMEM.
 */
int jump_tables_read(struct control_flow *flow);

#endif
