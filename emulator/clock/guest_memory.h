/*
 * guest_memory.h - the guest's memory, at addresses that it may have made up
 *
 * The kernel copies: a bad address is refused, as it is to the guest, and nobody dies of it. Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_GUEST_MEMORY_H
#define DCPI_EMULATOR_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `base` is what is added to the guest's addresses. False: not all of it is there. */
bool guest_memory_read(uint64_t address, uint64_t base, void *copy, size_t size);
bool guest_memory_write(uint64_t address, uint64_t base, const void *bytes, size_t size);

/* A string with its end; false: none, or longer than `size` - 1. */
bool guest_memory_read_string(uint64_t address, uint64_t base, char *copy, size_t size);

#endif
