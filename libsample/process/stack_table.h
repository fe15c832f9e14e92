/*
 * stack_table.h - the call stacks of a session: each chain of callers once
 *
 * Nodes are numbered from 1 in the order of first use; a caller comes before what it calls. The numbers belong to the
 * session, as those of image_table.h do. profile/stacks.h says what a node is.
 * A table takes at most its limit, and then no more nodes; its owner begins a new one long before.
 * Thread rule: one thread for a table. Nodes below stack_table_count() never change, but move when the table grows.
 */
#ifndef DCPI_PROCESS_STACK_TABLE_H
#define DCPI_PROCESS_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define STACK_NO_IMAGE  UINT32_MAX
#define STACK_DEPTH_MAX 1025 /* nodes of a stack, the one that says how it ended included */

/* How a stack ended that has no outermost frame. Stored in the database: append only. */
#define STACK_ENDS(X)                                                                                                  \
	X(STACK_END_UNKNOWN, "unknown", "the caller's address lies in no known mapping")                               \
	X(STACK_END_NO_TABLES, "no-tables", "there are no unwind tables for the code")                                 \
	X(STACK_END_COPY, "stack-copy", "the stack is larger than the copy of it")                                     \
	X(STACK_END_BAD_FRAME, "bad-frame", "the frame or its unwind table makes no sense")                            \
	X(STACK_END_DEPTH, "depth", "the stack is deeper than what is kept of one")

enum stack_end {
#define STACK_END_VALUE(name, id, text) name,
	STACK_ENDS(STACK_END_VALUE)
#undef STACK_END_VALUE
		STACK_END_COUNT
};

const char *stack_end_name(unsigned end); /* "no-tables", ...; "other" for a number out of range */
const char *stack_end_text(unsigned end);

/* A frame and what called it. */
struct stack_node {
	uint64_t offset; /* in the image; without an image, an enum stack_end */
	uint32_t image;  /* a number; STACK_NO_IMAGE: the stack could not be unwound beyond this */
	uint32_t caller; /* the caller's node; 0: none */
};

struct stack_table;

struct stack_table *stack_table_new(size_t limit); /* nodes; NULL and errno (ENOMEM) */
void stack_table_free(struct stack_table *table);  /* NULL is allowed */

/* The number of a node, new or not. 0; -ENOSPC at the limit; -ENOMEM; -EINVAL for a caller that is no node. */
int stack_table_intern(struct stack_table *table, const struct stack_node *node, uint32_t *number);

/* How many nodes there are: their numbers are 1 to this. */
uint32_t stack_table_count(const struct stack_table *table);

/* Those from `number` on, which is at least 1: an array of stack_table_count() - number + 1. */
const struct stack_node *stack_table_nodes(const struct stack_table *table, uint32_t number);
size_t stack_table_bytes(const struct stack_table *table);

#endif
