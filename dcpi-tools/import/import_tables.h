/*
 * import_tables.h - the unwind tables of a recording's images, made when a stack first has a frame in one
 *
 * A table comes from the database that is imported into, if dcpid has put it there, or else it is made of the file at
 * the image's path, which must have the build-id that the recording names (image/image_file.h). A file of another build
 * gives no table. Tables take at most a limit of memory: those that were not needed for longest are given back, and
 * made again when they are needed. None is stored: a recording can claim that any file has any build-id, and dcpid
 * trusts the tables of its database.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_TABLES_H
#define DCPI_TOOLS_IMPORT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

struct build_ids;

#define IMPORT_TABLES_BYTES ((size_t)48 << 20) /* a suitable limit: that of gcc's cc1 takes 4 MiB */

struct import_tables_options {
	const struct build_ids *build_ids; /* of the recording; borrowed */
	struct profile *known;             /* the database that may have tables; borrowed. NULL: none */
	size_t memory_limit;               /* bytes of tables */
};

struct import_tables;

/* NULL and errno (ENOMEM). */
struct import_tables *import_tables_new(const struct import_tables_options *options);
void import_tables_free(struct import_tables *tables); /* NULL is allowed */

/* A session begins, whose numbers are those of `images` (borrowed); what was known of another session is forgotten. */
void import_tables_begin(struct import_tables *tables, const struct image_table *images);

/* How the code of image `number` is unwound: for struct call_stack_tables. *table is valid until the next call. */
enum unwind_code import_tables_find(void *tables, uint32_t number, const struct unwind_table **table);

/* -ENOMEM when memory ended in import_tables_find(), so that stacks ended early; or 0. */
int import_tables_error(const struct import_tables *tables);

#endif
