/*
 * symbols.h - the functions of an image, by offset
 *
 * All these sources are merged: .symtab, .dynsym, a separate debug file (by build-id, then debuglink), .gnu_debugdata
 * (minidebuginfo), names made for PLT entries (`malloc@plt`); and for code that none of them covers, the bounds in
 * .eh_frame, without a name. For the kernel and its modules, the names captured in the database.
 * Each offset has one symbol. A function with two names (an alias, or one in .symtab and one in .dynsym) becomes one
 * symbol with the better name: functions before labels, global before weak before local, then fewer leading
 * underscores, then a symbol with a size, then the shorter name, then byte order. Where symbols overlap, the one that
 * begins last owns the bytes up to its end. Ranges without a name (from .eh_frame) only fill gaps between named
 * symbols.
 * Thread rule: one thread per image file or builder; a table is constant once it is made, and any number of threads may
 * read it.
 */
#ifndef DCPI_IMAGE_SYMBOLS_H
#define DCPI_IMAGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"

struct symbol {
	uint64_t offset;  /* as image_table.h defines it for the image's kind */
	uint64_t size;    /* bytes; 0: up to the next symbol */
	const char *name; /* as linked, not demangled; NULL: code whose bounds are known but not its name. Owned by the
	                     table */
};

struct symbol_table;

/* The symbols of a file. 0 with *table set (it may be empty), -ENOMEM, -DCPI_EDAMAGED. The table does not need `file`
 * afterwards. */
int symbol_table_from_file(struct image_file *file, struct symbol_table **table);

/*
 * The variables of a file (.symtab, .dynsym, those of a separate debug file): here `offset` is the ELF virtual address,
 * because memory that begins as zeros is not in the file. Errors of symbol_table_from_file().
 */
int symbol_table_of_variables(struct image_file *file, struct symbol_table **table);

/* Make a table of the symbols of profile_get_symbols(), ascending by offset; names are copied. 0 or -ENOMEM. */
struct profile_symbol;
int symbol_table_from_captured(const struct profile_symbol *symbols, size_t count, struct symbol_table **table);
void symbol_table_free(struct symbol_table *table); /* NULL is allowed */

/* The symbol that holds `offset`, NULL when none does. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t offset);
size_t symbol_table_size(const struct symbol_table *table);

/* The symbols one by one, those with a name first, ascending by offset; `index` is below symbol_table_size(). */
const struct symbol *symbol_table_at(const struct symbol_table *table, size_t index);

/* Demangle a C++, Rust or D name without its parameters. A new string (free it), or NULL when it is not mangled. */
char *symbol_demangle(const char *name);

/* ---- for the files of this room: the candidates of which a table is made ---- */

/* Best first. */
enum symbol_binding {
	SYMBOL_GLOBAL,
	SYMBOL_WEAK,
	SYMBOL_LOCAL,
};

/* There are millions of them in all that a machine runs: wide members first, so that there are no gaps. */
struct symbol_candidate {
	uint64_t offset;
	uint64_t size;        /* 0: not known */
	uint64_t limit;       /* offset that it cannot pass, e.g. the end of its section */
	const char *name;     /* borrowed until symbol_builder_finish(); NULL: unnamed */
	const char *suffix;   /* literal that follows the name, or NULL */
	uint32_t name_length; /* without a version (`@@GLIBC_2.2.5`) */
	uint8_t binding;      /* enum symbol_binding */
	bool label;           /* a label in code, not declared to be a function */
};

struct symbol_builder {
	struct symbol_candidate *candidates;
	size_t count, capacity;
	size_t sorted; /* how many of the first candidates are in order */
};

#define SYMBOL_BUILDER_INIT                                                                                            \
	{                                                                                                              \
		0                                                                                                      \
	}

void symbol_builder_fini(struct symbol_builder *builder);

/* 0 or -ENOMEM. An empty candidate (limit not above offset) is ignored. */
int symbol_builder_add(struct symbol_builder *builder, const struct symbol_candidate *candidate);

/* The best named candidate that begins at `offset`, among those added so far; NULL when there is none. Sorts. */
const struct symbol_candidate *symbol_builder_best(struct symbol_builder *builder, uint64_t offset);

/* Make the table; afterwards only symbol_builder_fini() may be called. 0 or -ENOMEM. */
int symbol_builder_finish(struct symbol_builder *builder, struct symbol_table **table);

#endif
