/*
 * statistics.h - medians, tails of distributions, many p-values, and how far counts of samples can be believed
 *
 * Tails are right to 1e-10 of themselves for degrees of freedom up to 1e6, which is what comparisons of counts need.
 * Intervals take samples as independent draws: k of n that fell into a procedure are binomial, and counts of two runs
 * are Poisson. What varies from run to run by itself is not in them. `z` is how many standard deviations an interval is
 * wide to each side, by statistics_z(). A number of samples that weigh unequally is an effective one (effective.h), and
 * no whole one; 0 <= k <= n.
 * Thread rule: stateless (lgamma_r).
 */
#ifndef DCPI_ANALYSIS_STATISTICS_H
#define DCPI_ANALYSIS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* P(X > x) of chi-square with `degrees` > 0; the incomplete gamma function Q(degrees / 2, x / 2) (DLMF 8.7.1, 8.9.2).
 */
double statistics_chi_square_tail(double x, double degrees);

/*
 * P(F > f) of Fisher's F; the incomplete beta function (DLMF 8.17.22). 1 when `denominator` is 0: nothing is known
 * about the variance that f was divided by.
 */
double statistics_f_tail(double f, double numerator, double denominator);

/* The x with P(X > x) = 1/2 of chi-square. */
double statistics_chi_square_median(double degrees);

/* Sorts `values`. The mean of the two in the middle when `count` is even; 0 of none. */
double statistics_median(double *values, size_t count);

struct weighted_value {
	double value;
	double weight; /* not negative */
};

/* The value that half of the weight is below, half above, of those with some weight; 0 when there is none. Sorts. */
double statistics_weighted_median(struct weighted_value *list, size_t count);

/*
 * Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979), in place: when those at most `alpha` are
 * taken to be real, the chance that any of them is not is at most `alpha`. 0 or -ENOMEM.
 */
int statistics_holm(double *p, size_t count);

struct statistics_interval {
	double least, most;
};

/* The z of an interval that holds the truth in `confidence` (above 0, below 1) of all cases: 1.96 for 0.95. */
double statistics_z(double confidence);

/* The share k / n. E. B. Wilson's score interval (J. Am. Stat. Assoc. 22, 1927); 0 to 1 when n is 0. */
struct statistics_interval statistics_share_interval(double k, double n, double z);

/*
 * The difference k[1] / n[1] - k[0] / n[0]. R. G. Newcombe's hybrid of the two score intervals (Statistics in Medicine
 * 17, 1998, method 10), which stays true where counts are few or none.
 */
struct statistics_interval statistics_difference_interval(const double k[2], const double n[2], double z);

/*
 * The ratio (k[1] * weight[1]) / (k[0] * weight[0]), by the score interval of k[1] / (k[0] + k[1]); `most` is infinite
 * when it has no bound.
 */
struct statistics_interval statistics_ratio_interval(const double k[2], const double weight[2], double z);

/*
 * The probability of shares that differ as much as these or more, if in truth they are one: Fisher's exact test, twice
 * the smaller tail.
 */
double statistics_fisher_exact(const uint64_t k[2], const uint64_t n[2]);

#endif
