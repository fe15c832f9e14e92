/*
 * statistics.h - tails of distributions, and what is done with many p-values
 *
 * Tails are right to 1e-10 of themselves for degrees of freedom up to 1e6, which is what comparisons of counts need.
 * Thread rule: stateless (lgamma_r).
 */
#ifndef DCPI_ANALYSIS_STATISTICS_H
#define DCPI_ANALYSIS_STATISTICS_H

#include <stddef.h>

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

/*
 * Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979), in place: when those at most `alpha` are
 * taken to be real, the chance that any of them is not is at most `alpha`. 0 or -ENOMEM.
 */
int statistics_holm(double *p, size_t count);

#endif
