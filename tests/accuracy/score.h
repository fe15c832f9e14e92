/*
 * score.h - how near estimates are to the truth: a histogram
 *
 * DCPI's way (section 6.4 of the paper in ACM TOCS): each block counts by its samples, each edge by its executions, and
 * what is asked is which share of that weight is within 5, 10, ... percent. Plain sums: scores may be added up.
 * Thread rule: stateless.
 */
#ifndef DCPI_ACCURACY_SCORE_H
#define DCPI_ACCURACY_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/frequency.h"

#define SCORE_LIMITS 5

extern const double score_limits[SCORE_LIMITS]; /* 0.05, 0.10, 0.15, 0.25, 0.50 */

/* One block, or one edge. */
struct score_item {
	double weight;      /* samples of a block, executions of an edge */
	double estimate;    /* in any unit that is the same for a whole procedure */
	double truth;       /* executions */
	uint8_t confidence; /* enum frequency_confidence */
};

struct error_histogram {
	double weight;
	double within[SCORE_LIMITS]; /* of the weight */
	double within_twice;         /* from half of the truth to twice of it */
};

/* By how much absolute estimates are too high, in steps of 5 %, from a thousandth to a thousand times. */
#define SCORE_FACTORS 283
#define SCORE_STEP    1.05

struct accuracy_score {
	struct error_histogram absolute, relative;                        /* blocks; one scale a procedure */
	struct error_histogram program;                                   /* blocks; one scale for all procedures */
	struct error_histogram edges_absolute, edges_relative;            /* edges */
	struct error_histogram by_confidence[CONFIDENCE_EXACT + 1];       /* blocks, relative */
	struct error_histogram edges_by_confidence[CONFIDENCE_EXACT + 1]; /* edges, relative */
	double factors[SCORE_FACTORS]; /* of procedures, by their samples; the middle one is 1 */
	size_t procedures;
	double samples; /* of them */
};

/* Of one procedure. `absolute`: executions that an estimate of 1 stands for; 0: nobody claims to know. */
struct score_procedure {
	const struct score_item *blocks, *edges;
	size_t block_count, edge_count;
	double absolute;
	double samples;
};

/*
 * The one factor for a procedure by which the largest share of its weight is within a tenth, and of several such that
 * by which most is within a twentieth; 1 when there is none, or no memory. What estimates are worth relative to one
 * another is what they are worth after it.
 */
double score_best_scale(const struct score_item *items, size_t count);

/* One more procedure. */
void score_add(struct accuracy_score *score, const struct score_procedure *procedure);

/* The factor that `share` of the samples, 0 to 1, are below; 0 when there are none. */
double score_factor(const struct accuracy_score *score, double share);

/* All blocks of a program, their estimates in one unit. */
void score_add_program(struct accuracy_score *score, const struct score_item *blocks, size_t count);

/* Percent of the weight within score_limits[limit]; 0 for none. */
double histogram_percent(const struct error_histogram *histogram, size_t limit);

/*
 * The mean of shares: a program has weight 1 in each histogram of `mean`, however long it was sampled; what was called
 * high or low has its share of that.
 */
void score_add_mean(struct accuracy_score *mean, const struct accuracy_score *score);

#endif
