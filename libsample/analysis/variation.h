/*
 * variation.h - which counts differ more from set to set than noise explains
 *
 * A count of samples is random: its variance is its mean (for a part p of a known total: its mean times 1 - p). In
 * addition, no two runs of a program take equal time: caches, memory and other load change the time of each row by some
 * percent, which differ from row to row. So the variance of a row's count in a set is modelled as
 *
 *     m + (c m)^2 where m is the mean of the row, scaled to the set
 *
 * (for a part, times 1 - p): the variance of the negative binomial distribution (Lawless, Canadian Journal of
 * Statistics 15, 1987). Each row has its own coefficient of variation c, drawn from a distribution that variation.c
 * describes; it is estimated from all other rows and a prior. The p-value of a row is the probability that a row of
 * that distribution has a spread at least as large as this row's, where the spread is the sum of (count - m)^2 / (m +
 * (c m)^2) over the sets. It is the tail of chi-square, whose degrees are the number of sets minus 1, averaged over c.
 * With no other rows, only the prior limits c; with many, the prior does not matter. Samples are not quite random: an
 * interrupt, or a loop in step with the period, hits one place several times. So, unless noise was given, the variance
 * m is treated as an estimate with twelve degrees of freedom, and F replaces chi-square.
 *
 * p-values are adjusted for the number of rows (Holm): if no row varies by more than the distribution allows, the
 * chance that any p is at most 0.05 is 5 %. With many rows this holds on any machine; with few, as an average over
 * machines that follow the prior. It assumes that the logarithms of the rows' c are normal, and not more spread than
 * the model allows.
 * Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_VARIATION_H
#define DCPI_ANALYSIS_VARIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARIATION_SETS_MAX  4096
#define VARIATION_LEAST     10 /* samples a set, on average: with fewer, the spread is not chi-square distributed */
#define VARIATION_ESTIMATED -1 /* see variation_request.noise */

/* What is known of c0, the typical c of a machine, before any row is looked at. */
struct noise_prior {
	double median; /* above 0 */
	double spread; /* deviation of the logarithm; above 0 */
};

/* The prior of an unknown machine: 3 %; from 0.9 to 10 % in two of three cases, and above 21 % in one of 20. */
#define NOISE_PRIOR_MEDIAN 0.03
#define NOISE_PRIOR_SPREAD 1.2

struct variation_request {
	size_t set_count;                /* from 2 to VARIATION_SETS_MAX */
	const double *factors;           /* by set: the factor of its counts that makes them comparable; above 0 */
	const double *totals;            /* by set: the total that counts are parts of; NULL: none */
	double noise;                    /* c, 0 for sampling alone; VARIATION_ESTIMATED */
	const struct noise_prior *prior; /* for VARIATION_ESTIMATED; NULL: NOISE_PRIOR_... */
};

struct variation_row {
	const uint64_t *counts; /* by set; borrowed, like `weights` */
	const double *weights;  /* by set: weight of an effective sample (effective.h); NULL: 1 */
	/* The results, from counts and factors: */
	double sum, mean, least, most;
	double deviation;  /* standard; squares divided by sets - 1 */
	double range;      /* (most - least) / sum: DCPI, figure 3; 0 when the sum is 0 */
	size_t set_count;  /* sets that have samples of the row */
	bool is_tested;    /* has at least VARIATION_LEAST effective samples a set */
	double p;          /* adjusted; 1 when not tested */
	double noise;      /* c of the other rows, against which it was tested */
	double own_noise;  /* c that explains its own spread */
	double statistic;  /* divided by its degrees: 1 is what noise gives on average */
	double mean_count; /* effective samples of a set with a factor of 1 */
};

struct variation {
	double noise;                   /* c0 of all rows together, or the c that was given */
	double noise_least, noise_most; /* bounds of c0 in nine of ten cases; or the c that was given */
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
 * A row of both sides. Its coefficient of variation is estimated from how much the sets of each side differ among
 * themselves, from the other rows, and from the prior (the moderated t-test of Smyth, Stat. Appl. Genet. Mol. Biol. 3,
 * 2004, with the model of variation.c). The share of a side is the sum of its sets' samples divided by the sum of their
 * totals.
 */
struct variation_difference {
	const uint64_t *counts; /* by set; borrowed, like `totals` */
	const double *totals;   /* by set: what the row's counts are parts of, above 0; NULL: variation_sides.totals */
	double p;               /* of shares that differ at least as much, if they are equal in truth; not adjusted */
	double change; /* half width of the interval of the difference of shares from noise alone, with `confidence` */
	double ratio;  /* half width for the logarithm of their ratio */
};

/* Fill in the rows' results; variation->tested counts the rows from which noise was estimated. 0, -EINVAL, -ENOMEM. */
int variation_compare(const struct variation_sides *sides, struct variation_difference *rows, size_t count,
                      struct variation *variation);

/*
 * Find outliers: sets whose total is far from the median of all. Its distance is more than 3.5 times the median
 * distance, scaled to a standard deviation (Iglewicz and Hoaglin, 1993), and more than 3.5 times the noise (c and
 * sampling). `totals` are samples times factors. *median becomes their median; above[i] becomes total / median - 1 if
 * set i is an outlier (negative: below the median), else 0. Fewer than four sets have no outlier. 0 or -ENOMEM.
 */
int variation_outliers(const double *totals, const double *factors, size_t count, double noise, double *median,
                       double *above);

#endif
