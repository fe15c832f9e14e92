/*
 * run_noise.h - by how much procedures vary from run to run: a prior, and what the rows of a comparison say
 *
 * Caches, memory and other load make whatever runs vary by some percent, and each procedure by its own. The model is a
 * hierarchy of three levels (empirical Bayes; Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, has it with an inverse
 * chi-square in place of the lognormal, for which there is no table):
 *
 *   ln c    of a row is normal about ln c0, with deviation sigma; c is its coefficient of variation
 *   ln c0   is normal about ln prior.median, with deviation prior.spread
 *   sigma   is one of a few values between 0.2 and 1.1, which are weighed by a lognormal about 0.5 (deviation
 *           0.25)
 *
 * and WILD_SHARE of the rows are not of this kind: their ln c is uniform from ln c0 up, so that a few rows that vary
 * for a reason do not make the noise of the others look large. All integrals are sums over points of ln c, ln c0 and
 * sigma; those of ln c0 are laid closer where the rows know it well.
 *
 * A row is known by the likelihood of what was counted, at each point of c. Two questions are answered: which c a row
 * has that is like the others (noise_predict(): what a test for more variation compares with), and which c a row has
 * by its own counts and the others together (noise_posterior(): what a difference of two means is divided by; the
 * moderated t-test).
 * Thread rule: one thread per model.
 */
#ifndef DCPI_ANALYSIS_RUN_NOISE_H
#define DCPI_ANALYSIS_RUN_NOISE_H

#include <stddef.h>

#define NOISE_POINTS 56 /* of c */

/* What is known of c0 before any row is looked at. */
struct noise_prior {
	double median; /* above 0 */
	double spread; /* deviation of the logarithm; above 0 */
};

/* Where nothing is known of the machine: 3 %; from 0.9 to 10 % in two of three cases, and above 21 % in one of 20. */
#define NOISE_PRIOR_MEDIAN 0.03
#define NOISE_PRIOR_SPREAD 1.2

struct run_noise;

/* The c of point `index`: from 0.001 to 5, at equal distances of the logarithm. */
double noise_point(size_t index);

/*
 * Make it of `count` rows with NOISE_POINTS likelihoods each (of any scale; not all 0), which are borrowed. NULL when
 * memory ends.
 */
struct run_noise *run_noise_new(const struct noise_prior *prior, const double (*likelihoods)[NOISE_POINTS],
                                size_t count);
void run_noise_free(struct run_noise *noise); /* NULL is allowed */

#define NOISE_NO_ROW ((size_t)-1)

/* How probable each c is, of a row that is like all but row `but` (NOISE_NO_ROW: like all). The sum is 1. */
void noise_predict(const struct run_noise *noise, size_t but, double probabilities[NOISE_POINTS]);

/* How probable each c is, of row `row`, which may be a wild one. The sum is 1. */
void noise_posterior(const struct run_noise *noise, size_t row, double probabilities[NOISE_POINTS]);

/* c0 by all rows but `but`: exp of the mean of its logarithm; and the deviation of that, if `spread` is not NULL. */
double noise_usual(const struct run_noise *noise, size_t but, double *spread);

#endif
