/*
 * elf_symbols.h - functions in the symbol tables of an ELF file (private to this room)
 */
#ifndef DCPI_IMAGE_ELF_SYMBOLS_H
#define DCPI_IMAGE_ELF_SYMBOLS_H

#include "image/elf_file.h"
#include "image/segments.h"
#include "image/symbol_builder.h"

/*
 * Add the functions and code labels in the first section of `type` (SHT_SYMTAB, SHT_DYNSYM) of `file`; `segments` are
 * those of the image. Names point into `file`. 0 (also when there is no such section), -ENOMEM, -DCPI_EDAMAGED.
 */
int elf_symbols_add(struct symbol_builder *builder, const struct elf_file *file, const struct segment_table *segments,
                    uint32_t type);

#endif
