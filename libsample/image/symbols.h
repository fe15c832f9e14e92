/*
 * symbols.h - the functions of an image, by offset
 *
 * Sources, all merged: .symtab, .dynsym, a separate debug file (by build-id, then debuglink), .gnu_debugdata
 * (minidebuginfo), names made for PLT entries (`malloc@plt`); where none of them covers a piece of code, the bounds in
 * .eh_frame, without a name. For the kernel and its modules, the names captured in the database.
 * Thread rule: plain data once it is made; any number of threads may read a table.
 */
#ifndef DCPI_IMAGE_SYMBOLS_H
#define DCPI_IMAGE_SYMBOLS_H

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

/* 0 with *table set (it may be empty), -ENOMEM, -DCPI_EDAMAGED. The table does not need `file` afterwards. */
int symbol_table_from_file(struct image_file *file, struct symbol_table **table);

/* From a list ascending by offset, e.g. a captured one; names are copied. */
int symbol_table_from_list(const struct symbol *symbols, size_t count, struct symbol_table **table);

/* From what profile_get_symbols() gave. 0 or -ENOMEM. */
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

#endif
