/*
 * symbolizer.h - from (image, offset) to a procedure, and to what was inlined into it
 *
 * Symbols of user images come from the files on this machine, if they are the build that was sampled, else from what
 * was captured in the database; symbols of the kernel, its modules and run-time code always come from the database.
 * Tables are read once and kept.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_SYMBOLIZER_H
#define DCPI_TOOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"

/* What is known about a piece of code; all kinds except the first two mean the whole image. */
enum procedure_kind {
	PROCEDURE_NAMED,
	PROCEDURE_UNNAMED,     /* begins at `offset`, has no name */
	PROCEDURE_NO_SYMBOL,   /* in no symbol table, in no unwind table */
	PROCEDURE_OTHER_BUILD, /* the file there now is not the one that was sampled */
	PROCEDURE_NO_FILE,
	PROCEDURE_NOT_READABLE,
	PROCEDURE_NOT_ELF,
	PROCEDURE_NO_NAMES, /* the kernel's names were not captured */
	PROCEDURE_ANON,     /* memory without a file */
};
#define PROCEDURE_KINDS 9

const char *procedure_kind_text(enum procedure_kind kind); /* "another build", ...; "" for named and unnamed ones */

struct procedure {
	enum procedure_kind kind;
	uint64_t offset;  /* where it begins, as image_table.h says; 0 when it stands for the whole image */
	const char *name; /* as linked; NULL but for PROCEDURE_NAMED. Owned by the symbolizer */
};

struct symbol;
struct symbolizer;

/* The profile is borrowed and must outlive it. NULL and errno (ENOMEM). */
struct symbolizer *symbolizer_new(struct profile *profile);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL is allowed */

/* The procedure that `offset` of `image` lies in. 0, or an error that concerns more than this image: -ENOMEM, ... */
int symbolizer_find(struct symbolizer *symbolizer, const struct selection_image *image, uint64_t offset,
                    struct procedure *procedure);

/*
 * The subroutines that the compiler inlined at `offset` of `image`, the innermost first, as linked: *count of them in
 * *names, which is the symbolizer's. None where the file on this machine, or its separate debug file, has no DWARF, or
 * is not the build that was sampled. 0 or -ENOMEM.
 */
int symbolizer_find_inlined(struct symbolizer *symbolizer, const struct selection_image *image, uint64_t offset,
                            const char *const **names, size_t *count);

/* The procedure of a symbol, as in symbolizer_find(). */
struct procedure procedure_of_symbol(const struct symbol *symbol);

/*
 * The title of a procedure: "main", "libfoo.so+0x1130", "[another build: libfoo.so]". It is not escaped, and the
 * caller frees it. NULL: no memory.
 */
char *procedure_title(const struct procedure *procedure, const struct image *image, bool demangle);

#endif
