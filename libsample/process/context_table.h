/*
 * context_table.h - contexts of samples: command name, cgroup and label, each combination once
 *
 * Numbers count from 0 in the order of first use; they belong to the session, not to the database. A table takes at
 * most CONTEXT_TABLE_BYTES_MAX; if its owner has not begun a new one by then, all further contexts are CONTEXT_OTHER.
 * Thread rule: one thread; a `const struct context *` stays valid and unchanged until context_table_free(), and may be
 * handed to another thread.
 */
#ifndef DCPI_PROCESS_CONTEXT_TABLE_H
#define DCPI_PROCESS_CONTEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMM_SIZE               16                /* TASK_COMM_LEN, with its NUL */
#define CONTEXT_TABLE_BYTES_MAX ((size_t)4 << 20) /* as of context_table_bytes() */
#define CONTEXT_OTHER           "(other)"         /* the command name; cgroup and label are not known */

struct context {
	const char *comm;   /* of the process (its main thread), at most COMM_SIZE - 1 bytes; "" when not known */
	const char *cgroup; /* path below the hierarchy's root, "/" at the root; "" when not known */
	const char *label;  /* "" when none */
};

struct context_table;

struct context_table *context_table_new(void);        /* NULL and errno (ENOMEM) */
void context_table_free(struct context_table *table); /* NULL is allowed */

/* The number of this context, new or not, or of CONTEXT_OTHER; copies the strings. 0, or -ENOMEM. */
int context_table_intern(struct context_table *table, const struct context *context, uint32_t *number);
const struct context *context_table_get(const struct context_table *table, uint32_t number);
uint32_t context_table_count(const struct context_table *table);
size_t context_table_bytes(const struct context_table *table); /* of memory, the hash tables left out */
bool context_table_is_full(const struct context_table *table); /* a context had no room */

#endif
