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

#include "analysis/interval.h"

/* What all things of a report have in common. */
struct scale {
	uint64_t totals[2]; /* samples that shares are of */
	double weights[2];  /* what a sample stands for; 0, both: not known, or not the same on both sides */
	double z;           /* of intervals: interval_z() */
};

struct comparison {
	uint64_t samples[2];
	double shares[2];      /* 0 to 1 */
	double change;         /* of them */
	struct interval bound; /* of the change */
	double amounts[2];     /* in the event's unit; samples where weights are not known */
	double times;          /* the second by the first; infinite, or 0 when both are */
	struct interval times_bound;
	double chance;   /* that sampling alone makes such a difference; adjusted for all by comparisons_judge() */
	bool is_changed; /* it is more than that */
};

void comparison_make(const struct scale *scale, const uint64_t samples[2], struct comparison *comparison);

/*
 * Adjust the chances of `count` comparisons, of which the first is `comparison` and each next `stride` bytes on, for
 * their number (Holm), and say which have changed at most by `alpha`. 0 with how many in *changed, or -ENOMEM.
 */
int comparisons_judge(struct comparison *comparison, size_t count, size_t stride, double alpha, size_t *changed);

#endif
