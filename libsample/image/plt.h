/*
 * plt.h - names for the stubs through which a program calls other images (private to this room)
 */
#ifndef DCPI_IMAGE_PLT_H
#define DCPI_IMAGE_PLT_H

#include "image/elf_file.h"
#include "image/segments.h"
#include "image/symbol_builder.h"

/*
 * Add a symbol `NAME@plt` for each stub of .plt, .plt.sec, .plt.got and .iplt that jumps through a GOT slot whose
 * relocation names a symbol - or the resolver of an indirect function, whose name must have been added before.
 * Names point into `file` and what the builder has. 0 or -ENOMEM; what is damaged has no names.
 */
int plt_add(struct symbol_builder *builder, const struct elf_file *file, const struct segment_table *segments);

#endif
