/*
 * statistics.h - medians, tails of distributions, adjustment of p-values, and confidence intervals of counts of samples
 *
 * Tails have a relative error of at most 1e-10 for degrees of freedom up to 1e6, which is enough for comparisons of
 * counts. Intervals treat samples as independent draws: k of n samples in a procedure are binomial, and counts of two
 * runs are Poisson. Variation from run to run is not in them. `z`, from statistics_z(), is the width of an interval to
 * each side in standard deviations. Samples of unequal weights have an effective number (effective.h), which is not an
 * integer; 0 <= k <= n.
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
 * P(F > f) of Fisher's F; the incomplete beta function (DLMF 8.17.22). 1 when `denominator` is 0, because then nothing
 * is known about the variance by which f was divided.
 */
double statistics_f_tail(double f, double numerator, double denominator);

/* The x with P(X > x) = 1/2 of chi-square. */
double statistics_chi_square_median(double degrees);

/* The median; sorts `values`. The mean of the two in the middle when `count` is even; 0 when it is 0. */
double statistics_median(double *values, size_t count);

struct weighted_value {
	double value;
	double weight; /* not negative */
};

/*
 * The weighted median: half of the weight is below it, half above. Values of weight 0 are ignored; 0 when there is no
 * other. Sorts.
 */
double statistics_weighted_median(struct weighted_value *list, size_t count);

/*
 * Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979), in place: if all differences with an
 * adjusted p of at most `alpha` are taken to be real, the chance that any of them is not real is at most `alpha`. 0 or
 * -ENOMEM.
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
 * 17, 1998, method 10), which stays valid if counts are few or 0.
 */
struct statistics_interval statistics_difference_interval(const double k[2], const double n[2], double z);

/*
 * The ratio (k[1] * weight[1]) / (k[0] * weight[0]), by the score interval of k[1] / (k[0] + k[1]); `most` is infinite
 * when it has no bound.
 */
struct statistics_interval statistics_ratio_interval(const double k[2], const double weight[2], double z);

/*
 * The probability that two shares differ at least as much as these if they are equal in truth: Fisher's exact test,
 * twice the smaller tail.
 */
double statistics_fisher_exact(const uint64_t k[2], const uint64_t n[2]);

#endif
