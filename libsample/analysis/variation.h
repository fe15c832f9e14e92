/*
 * variation.h - which counts differ more from set to set than noise explains
 *
 * A count of samples is random: its variance is its mean (a part p of a known total: mean times 1 - p). And no two runs
 * of a program take the same time: caches, memory, other load make whatever runs vary by some percent, each row by its
 * own. So the variance of a row's count in a set is taken to be
 *
 *     m + (c m)^2     where m is what the row has on average, scaled to the set
 *
 * (times 1 - p of a part): the negative binomial's (Lawless, Canadian Journal of Statistics 15, 1987). The coefficient
 * of variation c is not one for all rows: it is drawn from a distribution that variation.c describes, and which all
 * other rows and a prior tell together. p is how probable it is that a row of that distribution has a spread - the sum
 * of (count - m)^2 / (m + (c m)^2) over the sets - as large as this row's: the tail of chi-square with one degree less
 * than there are sets, averaged over c. Where there are no other rows, the prior alone says what c may be; where there
 * are many, it does not matter. Samples are not quite random: what an interrupt or a loop in step with the period hits,
 * it hits several times. So the variance m is taken for an estimate of twelve degrees, and F is in the place of
 * chi-square, unless noise was given.
 *
 * p-values are adjusted for the number of rows (Holm): when no row varies by more than its kind does, the chance that
 * any p is at most 0.05 is 5 % - over machines that are as the prior says where rows are few, on any machine where they
 * are many - as long as the logarithms of the rows' own c are normal and not wider spread than the model allows.
 * Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_VARIATION_H
#define DCPI_ANALYSIS_VARIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARIATION_SETS_MAX  4096
#define VARIATION_LEAST     10 /* samples a set, on average: below, the sum is not chi-square any more */
#define VARIATION_ESTIMATED -1 /* see variation_request.noise */

/* What is known of c0, the typical c of a machine, before any row is looked at. */
struct noise_prior {
	double median; /* above 0 */
	double spread; /* deviation of the logarithm; above 0 */
};

/* Where nothing is known of the machine: 3 %; from 0.9 to 10 % in two of three cases, and above 21 % in one of 20. */
#define NOISE_PRIOR_MEDIAN 0.03
#define NOISE_PRIOR_SPREAD 1.2

struct variation_request {
	size_t set_count;                /* from 2 to VARIATION_SETS_MAX */
	const double *factors;           /* by set: what a count is multiplied by, to compare with others; above 0 */
	const double *totals;            /* by set: what counts are parts of; NULL: they are parts of nothing */
	double noise;                    /* c, 0 for sampling alone; VARIATION_ESTIMATED */
	const struct noise_prior *prior; /* where it is estimated; NULL: that of any machine */
};

struct variation_row {
	const uint64_t *counts; /* by set; borrowed, as the next */
	const double *weights;  /* by set: what an effective sample counts as (effective.h); NULL: 1 */
	/* What counts and factors give: */
	double sum, mean, least, most;
	double deviation;  /* standard; squares divided by sets - 1 */
	double range;      /* (most - least) / sum: DCPI, figure 3; 0 when the sum is */
	size_t set_count;  /* sets that have any */
	bool is_tested;    /* has VARIATION_LEAST samples a set: effective ones, as those of mean_count */
	double p;          /* adjusted; 1 when not tested */
	double noise;      /* c of the others, that it was tested against */
	double own_noise;  /* c that its own spread would be */
	double statistic;  /* divided by its degrees: 1 is what noise gives on average */
	double mean_count; /* samples, with factors of 1 */
};

struct variation {
	double noise;                   /* c0 of all rows together, or the c that was given */
	double noise_least, noise_most; /* between which c0 is in nine of ten cases; else the c that was given */
	size_t tested;                  /* rows */
};

/* Fill the rows' results. 0, -EINVAL (sets, factors), -ENOMEM. */
int variation_test(const struct variation_request *request, struct variation_row *rows, size_t count,
                   struct variation *variation);

/* Sets of two sides: runs before something was changed, and runs after it. */
struct variation_sides {
	size_t set_count;                /* from 3 to VARIATION_SETS_MAX; at least one of each side */
	const bool *is_after;            /* by set */
	const double *totals;            /* by set: the samples that counts are parts of; above 0 */
	double confidence;               /* of the distances below: 0.95 */
	const struct noise_prior *prior; /* NULL: that of any machine */
};

/*
 * A row of both sides. Its coefficient of variation is known by how its sets of each side differ among themselves, by
 * the other rows, and by the prior (the moderated t-test of Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, with the
 * model of variation.c). A side's share is the samples of its sets by their totals.
 */
struct variation_difference {
	const uint64_t *counts; /* by set; borrowed, as `totals` */
	const double *totals;   /* by set: what the row's counts are parts of, above 0; NULL: variation_sides.totals */
	double p;      /* that sampling and noise make shares differ as much, if in truth they are one; not adjusted */
	double change; /* what noise alone moves the difference of shares by, to each side, with `confidence` */
	double ratio;  /* what it moves the logarithm of their ratio by */
};

/* Fill the rows' results; variation->tested are those that tell of noise. 0, -EINVAL, -ENOMEM. */
int variation_compare(const struct variation_sides *sides, struct variation_difference *rows, size_t count,
                      struct variation *variation);

/*
 * Sets whose total is far from the others': more than 3.5 times the median distance from the median, scaled to a
 * standard deviation (Iglewicz and Hoaglin, 1993), and than 3.5 times the noise (c and sampling). `totals` are samples
 * times factors; *median is theirs, and above[i], if set i is one, the part that it is above it (negative: below), else
 * 0. With fewer than four sets there is none. 0 or -ENOMEM.
 */
int variation_outliers(const double *totals, const double *factors, size_t count, double noise, double *median,
                       double *above);

#endif
