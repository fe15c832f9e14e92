/*
 * scores.h - spatial and temporal locality of a sequence of references
 *
 * By Weinberg, McCracken, Strohmaier and Snavely, "Quantifying Locality in the Memory Access Patterns of HPC
 * Applications", SC'05:
 *
 *   spatial   mean of 1 / stride, where a stride is the least distance to one of the 32 addresses before, in words of 8
 *             bytes, rounded up; 0 if the address itself is among them
 *   temporal  mean of (L - i) / L, where L is log2 of LOCALITY_REUSE_MAX, and i of 2^i < d <= 2^(i+1) with the reuse
 *             distance d: how many other addresses were referred to since this one was (i is 0 for d up to 2); 0 for
 *             distances of more than LOCALITY_REUSE_MAX, and for new addresses
 *
 * Addresses are those of the first byte: a reference to another part of a word is one to another address. An access of
 * more bytes than a word, as one to a vector, is a reference to each of its words: so scores do not depend on whether
 * the compiler made vectors.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_LOCALITY_SCORES_H
#define DCPI_LOCALITY_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#define LOCALITY_REUSE_BITS 16
#define LOCALITY_REUSE_MAX  (UINT32_C(1) << LOCALITY_REUSE_BITS)
#define LOCALITY_WORD_BYTES 8

/* How many references an access of so many bytes is; the first is to its address, each other one a word later. */
static inline uint32_t
locality_words(uint32_t bytes)
{
	return bytes <= LOCALITY_WORD_BYTES ? 1 : (bytes + LOCALITY_WORD_BYTES - 1) / LOCALITY_WORD_BYTES;
}

/* Sums, of references of one kind. */
struct locality_score {
	uint64_t references; /* each has a stride */
	uint64_t judged;     /* those whose reuse distance is known */
	double spatial, temporal;
};

/* What was referred to lately. */
struct locality_window;

struct locality_window *locality_window_new(void);         /* NULL: no memory */
void locality_window_free(struct locality_window *window); /* NULL is allowed */

/*
 * A sequence begins. is_whole: nothing was referred to before, so an address that is new was never referred to. Else
 * reuse distances are judged when more than LOCALITY_REUSE_MAX addresses are known, or after LOCALITY_WARM_REFERENCES:
 * then few that come for the first time were referred to before, and farther away than the number of addresses that are
 * known, so at most log2 of LOCALITY_REUSE_MAX / that number is missing of their L - i.
 */
#define LOCALITY_WARM_REFERENCES (4 * LOCALITY_REUSE_MAX)
void locality_window_begin(struct locality_window *window, bool is_whole);

void locality_window_add(struct locality_window *window, uint64_t address, struct locality_score *score);

/* Like locality_window_add(), but reuse distances do not count it: locality_window_begin() comes before others do. */
void locality_window_pass(struct locality_window *window, uint64_t address, struct locality_score *score);

void locality_score_add(struct locality_score *sum, const struct locality_score *score);

double locality_spatial(const struct locality_score *score);  /* 0 to 1; 0 without references */
double locality_temporal(const struct locality_score *score); /* 0 to 1; -1: no reuse distance is known */

#endif
