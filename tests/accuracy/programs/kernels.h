/*
 * kernels.h - ten small procedures with loops and branches, each by its name
 *
 * Each works on `data`, `size` random bytes that it may change, and returns something that depends on all of its work.
 * Thread rule: one thread.
 */
#ifndef DCPI_ACCURACY_KERNELS_H
#define DCPI_ACCURACY_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t kernel_function(uint8_t *data, size_t size);

/* numbers and trees: kernels_order.c */
kernel_function kernel_quicksort, kernel_heap, kernel_tree, kernel_hash, kernel_sieve;

/* text and machines: kernels_text.c */
kernel_function kernel_search, kernel_lexer, kernel_distance, kernel_machine, kernel_life;

#endif
