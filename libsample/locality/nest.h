/*
 * nest.h - loops within each other whose references are known when the first is entered, and orders of their iterations
 *
 * Thread rule: none; callers keep what they pass.
 */
#ifndef DCPI_LOCALITY_NEST_H
#define DCPI_LOCALITY_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locality/record.h"

#define LOCALITY_NO_LOOP   SIZE_MAX
#define LOCALITY_PARTS_MAX 256u

/* A reference of a nest. */
struct locality_part {
	size_t loop;                    /* of the record */
	uint64_t base;                  /* address of the first iteration of all; of a gather, for an index of 0 */
	int64_t steps[LOCALITY_LEVELS]; /* of the levels up to its own, bytes; of a gather the last is its coefficient
	                                 */
	const char *indices;            /* of a gather; NULL: it is none */
	uint64_t count;                 /* of indices: perhaps fewer than iterations */
	int index_bytes;                /* of one; negative: with a sign */
	uint32_t reference;
	uint32_t level;      /* of its loop, from 0 on */
	bool is_behind;      /* the loop within its loop; else it comes before that */
	bool is_used_within; /* what it reads is used in the loop within its loop, and not alone as a sum's beginning */
};

/* Loops whose references are known when the first is entered, each with the next as the only one in it. */
struct locality_nest {
	uint32_t levels;                      /* 1 to LOCALITY_LEVELS */
	size_t loops[LOCALITY_LEVELS];        /* outermost first; LOCALITY_NO_LOOP: one without references */
	uint64_t iterations[LOCALITY_LEVELS]; /* of each, when it is entered */
	uint8_t carries[LOCALITY_LEVELS];     /* LOCALITY_CARRIES_...: of a nest of one loop it is not known, and 0 */
	uint32_t count;                       /* up to LOCALITY_PARTS_MAX */
	struct locality_part *parts;          /* by level, and by their numbers */
};

/* How often its loop at `level` ran in all; the largest number if it is larger. */
uint64_t locality_nest_times(const struct locality_nest *nest, uint32_t level);

/*
 * An order of a nest's iterations: loops, outermost first. One over a level's iterations, or over its tiles, of `tile`
 * iterations each, with one over the iterations of a tile within it.
 */
struct locality_order {
	uint32_t count;
	struct {
		uint32_t level;
		uint64_t tile; /* 0: over iterations */
	} loops[2 * LOCALITY_LEVELS];
};

struct locality_order locality_order_of(const struct locality_nest *nest); /* its own */

/*
 * Whether the reference, which is made when the innermost of its own loops iterates, comes more often in this order
 * than in the nest's, within a loop that was inside its loop: then what it writes is a sum, to be read before.
 */
bool locality_order_repeats(const struct locality_order *order, const struct locality_part *part);

/* References of all iterations in this order: of those that repeat, more. The largest number if they are more. */
uint64_t locality_order_references(const struct locality_nest *nest, const struct locality_order *order);

/*
 * Called for each reference of a nest in this order, the first `most` of them. 0, or what `refer` ended with. Loops
 * that refer to nothing end when they have run as often.
 */
int locality_order_replay(const struct locality_nest *nest, const struct locality_order *order, uint64_t most,
                          int (*refer)(void *context, const struct locality_part *part, uint64_t address),
                          void *context);

#endif
