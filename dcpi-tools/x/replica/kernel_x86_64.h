/*
 * kernel_x86_64.h - what a program without a library asks of the kernel and the processor
 */
#ifndef DCPI_TOOLS_X_REPLICA_KERNEL_X86_64_H
#define DCPI_TOOLS_X_REPLICA_KERNEL_X86_64_H

#include <stddef.h>
#include <stdint.h>

long kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
void kernel_leave(void) __attribute__((noreturn));

/* From now on only the calls that bring pages, those between dcpix and us, and the end. Ends if that cannot be. */
void kernel_give_up_calls(void);

void copy_bytes(void *to, const void *from, uint64_t size);
void *memset(void *to, int byte, size_t size); /* the compiler may ask for it */

#endif
