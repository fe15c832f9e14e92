/*
 * align.h - a longest common subsequence: the lines that a diff does not change
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
 * (align_text_hash()): partners[i] is the element of `other` that one[i] is, or ALIGN_NONE. 0 or -ENOMEM.
 */
int align_sequences(const uint64_t *one, size_t count, const uint64_t *other, size_t other_count, uint32_t *partners);

/* A hash of a text (FNV-1a). Blanks at both ends are left out, and blanks in a row are one. */
uint64_t align_text_hash(const char *text);

/* As align_text_hash(), but all numbers that begin with 0x are alike: instructions match though addresses moved. */
uint64_t align_instruction_hash(const char *text);

#endif
