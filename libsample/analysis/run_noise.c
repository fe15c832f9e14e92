#include "analysis/run_noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define C_LEAST        1e-3
#define C_MOST         5.0
#define WILD_SHARE     0.02
#define CENTRES        20 /* points of ln c0 */
#define SIGMAS         7
#define CELLS          (CENTRES * SIGMAS)
#define SIGMA_MEDIAN   0.5 /* of sigma's prior, and the deviation of its logarithm */
#define SIGMA_SPREAD   0.25
#define ZOOMS          4      /* times that the points of ln c0 are laid closer, at most */
#define ZOOM_STEPS     2.0    /* they are, while the deviation of ln c0 is less than so many steps */
#define ZOOM_WIDTH     5.0    /* deviations to each side */
#define UNDERFLOW      1e-14  /* parts of the largest likelihood that do not matter */
#define LEAST_EVIDENCE 1e-280 /* the same, in place of none: its logarithm is finite */

static const double sigmas[SIGMAS] = {0.2, 0.3, 0.4, 0.5, 0.65, 0.85, 1.1};

struct run_noise {
	const struct noise_prior prior;
	const double (*likelihoods)[NOISE_POINTS];
	size_t count;
	double centres[CENTRES];             /* ln c0 */
	double regular[NOISE_POINTS][CELLS]; /* how probable c is, by ln c0 and sigma */
	double wild[NOISE_POINTS][CELLS];    /* the same, of a wild row */
	double prior_logs[CELLS];            /* not normalized, as the next */
	double posterior_logs[CELLS];        /* by all rows */
	double (*evidence)[CELLS];           /* by row: the logarithm of how likely it is */
};

static double
point_log(size_t index)
{
	return log(C_LEAST) + (double)index * log(C_MOST / C_LEAST) / (NOISE_POINTS - 1);
}

double
noise_point(size_t index)
{
	return exp(point_log(index));
}

/* Lay the points of ln c0 from `least` to `most`, and work out what each cell says of c, and the prior of it. */
static void
lay_centres(struct run_noise *noise, double least, double most)
{
	for (size_t i = 0; i < CENTRES; i++)
		noise->centres[i] = least + (double)i * (most - least) / (CENTRES - 1);
	for (size_t cell = 0; cell < CELLS; cell++) {
		const double centre = noise->centres[cell / SIGMAS], sigma = sigmas[cell % SIGMAS];
		const double from_median = (centre - log(noise->prior.median)) / noise->prior.spread;
		const double from_usual = log(sigma / SIGMA_MEDIAN) / SIGMA_SPREAD;
		double regular = 0, wild = 0;

		noise->prior_logs[cell] = -(from_median * from_median + from_usual * from_usual) / 2;
		for (size_t i = 0; i < NOISE_POINTS; i++) {
			const double distance = (point_log(i) - centre) / sigma;

			noise->regular[i][cell] = exp(-distance * distance / 2);
			noise->wild[i][cell] = distance > 0 || i == NOISE_POINTS - 1;
			regular += noise->regular[i][cell];
			wild += noise->wild[i][cell];
		}
		for (size_t i = 0; i < NOISE_POINTS; i++) {
			noise->regular[i][cell] *= (1 - WILD_SHARE) / regular;
			noise->wild[i][cell] *= WILD_SHARE / wild;
		}
	}
}

/* The evidence of each row, at each cell; and the posterior by all of them. */
static void
weigh_rows(struct run_noise *noise)
{
	memcpy(noise->posterior_logs, noise->prior_logs, sizeof(noise->posterior_logs));
	for (size_t row = 0; row < noise->count; row++) {
		const double *likelihood = noise->likelihoods[row];
		double *evidence = noise->evidence[row], most = 0;

		memset(evidence, 0, sizeof(*noise->evidence));
		for (size_t i = 0; i < NOISE_POINTS; i++)
			most = fmax(most, likelihood[i]);
		for (size_t i = 0; i < NOISE_POINTS; i++) {
			if (likelihood[i] <= most * UNDERFLOW)
				continue;
			for (size_t cell = 0; cell < CELLS; cell++)
				evidence[cell] += likelihood[i] * (noise->regular[i][cell] + noise->wild[i][cell]);
		}
		for (size_t cell = 0; cell < CELLS; cell++) {
			evidence[cell] = log(evidence[cell] + most * LEAST_EVIDENCE);
			noise->posterior_logs[cell] += evidence[cell];
		}
	}
}

/* How probable each cell is by all rows but `but`. */
static void
weigh_cells(const struct run_noise *noise, size_t but, double weights[CELLS])
{
	double most = -INFINITY, sum = 0;

	for (size_t cell = 0; cell < CELLS; cell++) {
		weights[cell] = noise->posterior_logs[cell];
		if (but < noise->count)
			weights[cell] -= noise->evidence[but][cell];
		most = fmax(most, weights[cell]);
	}
	for (size_t cell = 0; cell < CELLS; cell++)
		sum += weights[cell] = exp(weights[cell] - most);
	for (size_t cell = 0; cell < CELLS; cell++)
		weights[cell] /= sum;
}

double
noise_usual(const struct run_noise *noise, size_t but, double *spread)
{
	double weights[CELLS], mean = 0, square = 0;

	weigh_cells(noise, but, weights);
	for (size_t cell = 0; cell < CELLS; cell++)
		mean += weights[cell] * noise->centres[cell / SIGMAS];
	for (size_t cell = 0; cell < CELLS; cell++)
		square += weights[cell] * pow(noise->centres[cell / SIGMAS] - mean, 2);
	if (spread)
		*spread = sqrt(square);
	return exp(mean);
}

struct run_noise *
run_noise_new(const struct noise_prior *prior, const double (*likelihoods)[NOISE_POINTS], size_t count)
{
	const struct run_noise made = {.prior = *prior, .likelihoods = likelihoods, .count = count};
	struct run_noise *noise = malloc(sizeof(*noise));
	double least = point_log(0), most = point_log(NOISE_POINTS - 1), mean, spread;

	if (!noise)
		return NULL;
	memcpy(noise, &made, sizeof(made));
	noise->evidence = calloc(count + 1, sizeof(*noise->evidence));
	if (!noise->evidence) {
		run_noise_free(noise);
		return NULL;
	}
	for (int zoom = 0;; zoom++) {
		const double step = (most - least) / (CENTRES - 1);

		lay_centres(noise, least, most);
		weigh_rows(noise);
		mean = log(noise_usual(noise, NOISE_NO_ROW, &spread));
		if (zoom == ZOOMS || spread >= ZOOM_STEPS * step)
			return noise;
		spread = fmax(spread, step / 2);
		least = fmax(least, mean - ZOOM_WIDTH * spread);
		most = fmin(most, mean + ZOOM_WIDTH * spread);
	}
}

void
run_noise_free(struct run_noise *noise)
{
	if (noise)
		free(noise->evidence);
	free(noise);
}

static void
normalize(double probabilities[NOISE_POINTS])
{
	double sum = 0;

	for (size_t i = 0; i < NOISE_POINTS; i++)
		sum += probabilities[i];
	for (size_t i = 0; i < NOISE_POINTS; i++)
		probabilities[i] /= sum;
}

void
noise_predict(const struct run_noise *noise, size_t but, double probabilities[NOISE_POINTS])
{
	double weights[CELLS];

	weigh_cells(noise, but, weights);
	for (size_t i = 0; i < NOISE_POINTS; i++) {
		probabilities[i] = 0;
		for (size_t cell = 0; cell < CELLS; cell++)
			probabilities[i] += weights[cell] * noise->regular[i][cell];
	}
	normalize(probabilities);
}

void
noise_posterior(const struct run_noise *noise, size_t row, double probabilities[NOISE_POINTS])
{
	double weights[CELLS];

	weigh_cells(noise, row, weights);
	for (size_t i = 0; i < NOISE_POINTS; i++) {
		probabilities[i] = 0;
		for (size_t cell = 0; cell < CELLS; cell++)
			probabilities[i] += weights[cell] * (noise->regular[i][cell] + noise->wild[i][cell]);
		probabilities[i] *= noise->likelihoods[row][i];
	}
	normalize(probabilities);
}
