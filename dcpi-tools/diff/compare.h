/*
 * compare.h - one thing on two sides: shares, amounts, and how far their difference can be believed
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_DIFF_COMPARE_H
#define DCPI_TOOLS_DIFF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics.h"
#include "analysis/variation.h"

/*
 * Samples, as struct selection_count has them: shares and amounts are of `count`, tests go by the effective number
 * (analysis/effective.h).
 */
struct side_count {
	uint64_t count; /* weighted, where the event's samples are */
	uint64_t taken;
	double squares; /* sum of the squares of their weights */
};

/* What all things of a report have in common. */
struct scale {
	struct side_count totals[2]; /* samples that shares are of */
	double weights[2]; /* what one of them stands for; 0, both: not known, or not the same on both sides */
	bool is_random[2]; /* as in struct effective_sample */
	double z;          /* of intervals: statistics_z() */
	size_t runs[2];    /* that amounts are divided by; 0: one */

	/* With several runs of a side; else sampling alone is what makes sides differ. */
	size_t run_count;              /* of both sides; 0: not known */
	struct side_count *run_totals; /* by run, as the next */
	double *run_units;             /* as in struct effective_sample */
	struct variation_sides noise;  /* its totals are those that were taken */
};

struct diff_comparison {
	struct side_count samples[2];
	double shares[2];                 /* 0 to 1 */
	double change;                    /* of them */
	struct statistics_interval bound; /* of the change */
	double amounts[2];                /* in the event's unit; samples where weights are not known */
	double times;                     /* the second by the first; infinite, or 0 when both are */
	struct statistics_interval times_bound;
	double chance;           /* that sampling, and noise if it is known, make such a difference; adjusted by
	                            comparisons_judge() */
	bool is_marked;          /* it is more than that */
	struct side_count *runs; /* by run, scale.run_count of them; NULL: not known. The owner's to free */
};

void side_count_add(struct side_count *to, const struct side_count *more);

void comparison_make(const struct scale *scale, const struct side_count samples[2], struct diff_comparison *comparison);

/* `count` comparisons, of which the first is `first` and each next `stride` bytes on. */
struct comparisons {
	struct diff_comparison *first;
	size_t count, stride;
};

/*
 * Where runs are known, widen bounds and chances by how much runs differ (variation_compare()), and say that in
 * *variation. 0 or -ENOMEM.
 */
int comparisons_add_noise(const struct scale *scale, const struct comparisons *comparisons,
                          struct variation *variation);

/* Adjust the chances for their number (Holm), and mark those that are at most `alpha`. 0 with how many, or -ENOMEM. */
int comparisons_judge(const struct comparisons *comparisons, double alpha, size_t *marked);

#endif
