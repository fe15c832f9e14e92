/*
 * advice.h - what could be done about a nest of loops, as far as the descriptors of its references prove that it may
 *
 * An order of loops is proposed if each two references, of which one writes, come to the same address in the same order
 * as before: either they never meet, or they have the same strides, and all distances in iterations between those that
 * meet are known (dependence distances; Allen and Kennedy, "Automatic Translation of Fortran Programs to Vector Form",
 * 1987). What loops hand on in registers may be sums alone. This holds for this run: other bounds may differ.
 *
 * Thread rule: one thread for a record.
 */
#ifndef DCPI_LOCALITY_ADVICE_H
#define DCPI_LOCALITY_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locality/nest.h"
#include "locality/record_read.h"

enum locality_remedy {
	LOCALITY_INTERCHANGE, /* its loops in another order */
	LOCALITY_TILE,        /* by tiles of `tile` iterations */
	LOCALITY_TRANSPOSE,   /* an array is kept by columns that was kept by rows, or the other way round */
	LOCALITY_SPLIT,       /* an array for each member of its structures */
};

struct locality_advice {
	struct locality_order order; /* of the nest with the remedy */
	uint64_t tile;               /* LOCALITY_TILE: iterations */
	const char *array; /* LOCALITY_TRANSPOSE, LOCALITY_SPLIT: its name, of array_size bytes, without a member */
	size_t array_size;
	double lines; /* that are fetched for a reference, if none stays in a cache from one iteration of a loop to the
	                 next; LOCALITY_TILE: of the order within tiles */
	uint32_t used, bytes; /* LOCALITY_SPLIT: so many bytes of so many are referred to in each structure */
	enum locality_remedy kind;
	bool sums_reordered; /* what is added in floating point may be rounded otherwise */
};

/* What tiles have to fit, and lines of caches, in bytes; no cache: 0, then there is no advice to tile. */
struct locality_caches {
	uint32_t line;
	uint64_t levels[2];
};

#define LOCALITY_ADVICE_MAX 32

/*
 * Write what may be done, and fetches fewer lines, or is LOCALITY_TILE; up to LOCALITY_ADVICE_MAX. Returns how many.
 * *lines is as above, of the nest as it is. A nest with a gather gets none.
 */
size_t locality_advise(const struct locality_record *record, const struct locality_nest *nest,
                       const struct locality_caches *caches, struct locality_advice advice[LOCALITY_ADVICE_MAX],
                       double *lines);

/* The nest's references as they are with the remedy: `parts` are the copy's, nest->count of them. */
struct locality_nest locality_advised(const struct locality_record *record, const struct locality_nest *nest,
                                      const struct locality_advice *advice, struct locality_part *parts);

#endif
