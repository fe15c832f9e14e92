/*
 * interval.h - how far a difference between two counts of samples can be believed
 *
 * Samples are taken as independent draws: k of n that fell into a procedure are binomial, and counts of two runs are
 * Poisson. What varies from run to run by itself is not in it. `z` is how many standard deviations an interval is wide
 * to each side, by interval_z(). A number of samples that weigh unequally is an effective one (effective.h), and no
 * whole one; 0 <= k <= n. Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_INTERVAL_H
#define DCPI_ANALYSIS_INTERVAL_H

#include <stdint.h>

struct interval {
	double least, most;
};

/* The z of an interval that holds the truth in `confidence` (above 0, below 1) of all cases: 1.96 for 0.95. */
double interval_z(double confidence);

/* The share k / n. E. B. Wilson's score interval (J. Am. Stat. Assoc. 22, 1927); 0 to 1 when n is 0. */
struct interval interval_share(double k, double n, double z);

/*
 * The difference k[1] / n[1] - k[0] / n[0]. R. G. Newcombe's hybrid of the two score intervals (Statistics in Medicine
 * 17, 1998, method 10), which stays true where counts are few or none.
 */
struct interval interval_difference(const double k[2], const double n[2], double z);

/*
 * The ratio (k[1] * weight[1]) / (k[0] * weight[0]), by the score interval of k[1] / (k[0] + k[1]); `most` is infinite
 * when it has no bound.
 */
struct interval interval_ratio(const double k[2], const double weight[2], double z);

/*
 * The probability of shares that differ as much as these or more, if in truth they are one: Fisher's exact test, twice
 * the smaller tail.
 */
double interval_chance(const uint64_t k[2], const uint64_t n[2]);

#endif
