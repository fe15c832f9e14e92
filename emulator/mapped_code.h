/*
 * mapped_code.h - the file and the offset of the code at an address of the emulator
 *
 * Reads /proc/self/maps, which has the guest's files at the guest's addresses, and keeps the result until
 * mapped_code_forget(). Code that differs from its file, because the program has changed it, has no file.
 * Thread rule: one thread at a time; mapped_code_forget() from any.
 */
#ifndef DCPI_EMULATOR_MAPPED_CODE_H
#define DCPI_EMULATOR_MAPPED_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

struct mapped_code;

/*
 * Called once for each file, before mapped_code_find() returns its number; they count from 1. 0, or -errno: the file
 * gets no number.
 */
typedef int mapped_code_visit(void *context, const struct record_mmap *file);

struct mapped_code *mapped_code_new(mapped_code_visit *visit, void *context); /* NULL and errno (ENOMEM) */
void mapped_code_free(struct mapped_code *code);                              /* NULL is allowed */

void mapped_code_forget(struct mapped_code *code); /* something was mapped or unmapped */

/* The number of the file of the `size` bytes at `address`, and their offset in it; 0: no file. */
uint32_t mapped_code_find(struct mapped_code *code, const void *address, size_t size, uint64_t *offset);

#endif
