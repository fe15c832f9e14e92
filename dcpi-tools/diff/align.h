/*
 * align.h - which elements of two sequences are one: what a diff leaves as it is
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_ALIGN_H
#define DCPI_TOOLS_DIFF_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#define ALIGN_NONE UINT32_MAX

/* As many cells are compared at most; two sequences that differ in more have no partners where they differ. */
#define ALIGN_CELLS_MAX ((size_t)1 << 24)

/*
 * A longest common subsequence of one[0 .. count) and other[0 .. other_count), elements compared by their numbers
 * (text_hash()): partners[i] is the element of `other` that one[i] is, or ALIGN_NONE. 0 or -ENOMEM.
 */
int sequences_align(const uint64_t *one, size_t count, const uint64_t *other, size_t other_count, uint32_t *partners);

/* A number for a text (FNV-1a); blanks at its begin and end do not count, nor how many there are elsewhere. */
uint64_t text_hash(const char *text);

/* The same, with all numbers from 0x on alike: instructions whose addresses moved. */
uint64_t instruction_hash(const char *text);

#endif
