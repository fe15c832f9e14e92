/*
 * call_frames.h - the bounds of functions in a program without symbols, from .eh_frame (private to this room)
 *
 * libdw reads the entries. Their encoded addresses are decoded here: dwarf_cfi_addrframe() decodes them, too, but only
 * to find the entry of an address that is known already, and it returns the bounds of a row, not of the function.
 */
#ifndef DCPI_IMAGE_CALL_FRAMES_H
#define DCPI_IMAGE_CALL_FRAMES_H

#include "image/elf_file.h"
#include "image/symbol_table.h"

/*
 * Add an unnamed range for each frame description in .eh_frame, which is found by its section or, without section
 * headers, by PT_GNU_EH_FRAME. 0 or -ENOMEM; a damaged entry ends the reading.
 */
int call_frames_add(struct symbol_builder *builder, const struct elf_file *file, const struct elf_segments *segments);

#endif
