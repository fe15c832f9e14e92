/*
 * unwind_build.h - the unwind table of an ELF file, from its call frame information
 *
 * Read are .eh_frame, .debug_frame where that has no entry, the table of a Go program (go_functions.h), and two kinds
 * of code that compilers describe nowhere: the program's entry, which nobody calls, and what the kernel returns to from
 * a signal handler; and of other code that keeps frame pointers, its instructions (frames.h). The file may be
 * malicious: time and memory are bounded by its size. Thread rule: one thread per elf_file.
 */
#ifndef DCPI_CODE_UNWIND_BUILD_H
#define DCPI_CODE_UNWIND_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"

/*
 * The bytes of the table (unwind/table.h) of `file`, in new memory (free it). `debug` is its separate debug file, or
 * NULL. 0; -ENOENT when it describes no code; -ENOTSUP for a machine that is not unwound; -ENOMEM, -DCPI_EDAMAGED.
 */
int unwind_build(const struct elf_file *file, const struct elf_file *debug, uint8_t **bytes, size_t *size);

#endif
