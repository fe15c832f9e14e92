/*
 * effective.h - samples of unequal weights as a smaller number of samples of equal ones
 *
 * The number of samples is random as Poisson has it; then the variance of the sum of their weights is the sum of the
 * squares of the weights. The sum, divided by (sum of squares) / (sum), is a number whose variance is itself, as that
 * of samples of weight 1, and which tests of counts can be given: (sum)^2 / (sum of squares), the effective sample size
 * of L. Kish (Survey Sampling, 1965). 19 samples of weight 1 and one of 250 are worth 1.2. Thread rule: stateless.
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
	double unit;    /* events that a weight of 1 stands for; 0: not known, as with all that it is compared with */
	bool is_random; /* weights vary by chance, as on idle CPUs; false: the sampling rate set them */
	double weight;  /* out: what an effective sample counts as. In: that where there are no samples; 0: 1 */
};

/*
 * Find the weights of samples that are compared with each other: `count` divided by it is the effective number, never
 * more than were taken; 1 where all weigh 1, and where nothing is known. Those that are random have one weight, in
 * events, from all of them together: the one that happened to get no heavy sample could have got it, and is no better
 * known than the others.
 */
void effective_weigh(struct effective_sample *samples, size_t count);

/*
 * As effective_weigh(), for samples that are parts of wholes, when the parts are compared: samples[i] and others[i] are
 * one whole. A part p of a whole varies as (1 - p) times the samples and p times the others do, so where the others
 * weigh more, the weights of the samples become (1 - p) of their own and p of the others'. others[] are weighed, too.
 */
void effective_weigh_parts(struct effective_sample *samples, struct effective_sample *others, size_t count);

/* What is left of `whole` without `part`: no samples when `part` is larger. */
struct effective_sample effective_rest(const struct effective_sample *whole, const struct effective_sample *part);

#endif
