/*
 * effective.h - samples of unequal weights as a smaller number of samples of equal weights
 *
 * The number of samples is random and follows a Poisson distribution; then the variance of the sum of their weights is
 * the sum of the squares of the weights. Dividing the sum by (sum of squares) / (sum) gives (sum)^2 / (sum of squares),
 * the effective sample size of L. Kish (Survey Sampling, 1965). The variance of this number is the number itself, like
 * that of a count of samples of weight 1, so tests for counts apply to it. 19 samples of weight 1 and one of 250 are
 * worth 1.2. Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_EFFECTIVE_H
#define DCPI_ANALYSIS_EFFECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effective_sample {
	uint64_t count; /* sum of the weights */
	uint64_t taken; /* how many there are */
	double squares; /* sum of the squares of the weights */
	double unit;    /* events that a weight of 1 stands for; 0: not known, in all that are compared */
	bool is_random; /* weights vary by chance, as on idle CPUs; false: the sampling rate set them */
	double weight;  /* out: weight of an effective sample. In: its value if there are no samples; 0: 1 */
};

/*
 * Find the weight of each of several samples that are compared with each other: `count` / `weight` is the effective
 * number, never more than `taken`. The weight is 1 if all samples weigh 1, or nothing is known. Samples with is_random
 * get one common weight, in events, from all of them together: one that by chance has no heavy sample could have got
 * one, and is no more certain than the others.
 */
void effective_weigh(struct effective_sample *samples, size_t count);

/*
 * effective_weigh() for comparing parts of wholes: samples[i] and others[i] together are one whole. If the samples are
 * a part p of the whole, this part varies as (1 - p) times the samples and p times the others do. So if the others
 * weigh more, the weight of the samples becomes (1 - p) times their own plus p times that of the others. others[] get
 * weights, too.
 */
void effective_weigh_parts(struct effective_sample *samples, struct effective_sample *others, size_t count);

/* `whole` minus `part`; no samples when `part` is larger. */
struct effective_sample effective_rest(const struct effective_sample *whole, const struct effective_sample *part);

#endif
