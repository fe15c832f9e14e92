/*
 * symbols.h - the functions of an image, by offset
 *
 * Sources, all merged: .symtab, .dynsym, a separate debug file (by build-id, then debuglink), .gnu_debugdata
 * (minidebuginfo), names made for PLT entries (`malloc@plt`); where none of them covers a piece of code, the bounds in
 * .eh_frame, without a name. For the kernel and its modules, the names captured in the database.
 * Thread rule: one thread per image file.
 */
#ifndef DCPI_IMAGE_SYMBOLS_H
#define DCPI_IMAGE_SYMBOLS_H

#include "image/image_file.h"
#include "image/symbol_table.h"

/* 0 with *table set (it may be empty), -ENOMEM, -DCPI_EDAMAGED. The table does not need `file` afterwards. */
int symbol_table_from_file(struct image_file *file, struct symbol_table **table);

/* Demangle a C++, Rust or D name without its parameters. A new string (free it), or NULL when it is not mangled. */
char *symbol_demangle(const char *name);

#endif
