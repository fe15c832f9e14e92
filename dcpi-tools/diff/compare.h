/*
 * compare.h - samples of one row on two sides: shares, amounts, and how significant their difference is
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
 * Samples, as in struct selection_count: shares and amounts use `count`, tests use the effective number
 * (analysis/effective.h).
 */
struct compare_count {
	uint64_t count; /* weighted, where the event's samples are */
	uint64_t taken;
	double squares; /* sum of the squares of their weights */
};

/* What all rows of a report share. */
struct compare_scale {
	struct compare_count totals[2]; /* samples that are the wholes of shares */
	double weights[2];              /* events or ns for a sample; 0 for both: not known, or units differ */
	bool is_random[2];              /* as in struct effective_sample */
	double z;                       /* of intervals: statistics_z() */
	size_t runs[2];                 /* by which amounts are divided; 0: one */

	/* With several runs of a side; without them, only the error of sampling is known. */
	size_t run_count;                 /* of both sides; 0: not known */
	struct compare_count *run_totals; /* by run, like run_units */
	double *run_units;                /* as in struct effective_sample */
	struct variation_sides noise;     /* its totals are samples without weights */
};

struct diff_comparison {
	struct compare_count samples[2];
	double shares[2];                 /* 0 to 1 */
	double change;                    /* of the shares */
	struct statistics_interval bound; /* of the change */
	double amounts[2];                /* in the event's unit; samples where weights are not known */
	double times;                     /* the second divided by the first; infinite, or 0 when both are 0 */
	struct statistics_interval times_bound;
	double chance;              /* that sampling, and noise if it is known, make such a difference; adjusted by
	                               compare_adjust() */
	bool is_marked;             /* it is more than that */
	struct compare_count *runs; /* by run, scale.run_count of them; NULL: not known. The owner's to free */
};

void compare_count_add(struct compare_count *to, const struct compare_count *more);

void compare_make(const struct compare_scale *scale, const struct compare_count samples[2],
                  struct diff_comparison *comparison);

/* `count` comparisons, of which the first is `first` and each next `stride` bytes on. */
struct compare_rows {
	struct diff_comparison *first;
	size_t count, stride;
};

/*
 * If runs are known, widen bounds and chances by how much runs differ (variation_compare()), and store this in
 * *variation. 0 or -ENOMEM.
 */
int compare_add_noise(const struct compare_scale *scale, const struct compare_rows *comparisons,
                      struct variation *variation);

/* Adjust the chances for their number (Holm), and mark those that are at most `alpha`. 0 with how many, or -ENOMEM. */
int compare_adjust(const struct compare_rows *comparisons, double alpha, size_t *marked);

#endif
