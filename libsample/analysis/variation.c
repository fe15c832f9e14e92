#include "analysis/variation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"

#define CLUSTER_DEGREES      12    /* see variation.h */
#define WITNESSES_MAX        1000  /* rows that the noise is estimated from: those with the most samples */
#define HALVINGS             40    /* of an interval, to find a root */
#define DISTANCE_HALVINGS    22    /* of the logarithm of one that is sought within nine powers of ten: 0.0005 % */
#define NOISE_MAX            1e6   /* c squared: nothing is random above */
#define VARIATION_NEGLIGIBLE 1e-7  /* probability that is left out of sums */
#define NINE_OF_TEN          1.645 /* deviations to each side, of a normal variable */
#define OUTLIER_DISTANCE     3.5
#define NORMAL_DISTANCE      1.4826 /* standard deviations of a median distance */

#define C_MIN          1e-3
#define C_MAX          5.0
#define OUTLIER_SHARE  0.02
#define CENTRES        20 /* points of ln c0 */
#define SIGMAS         7
#define CELLS          (CENTRES * SIGMAS)
#define SIGMA_MEDIAN   0.5 /* of sigma's prior, and the deviation of its logarithm */
#define SIGMA_SPREAD   0.25
#define REFINEMENTS    4      /* of the grid of ln c0, at most */
#define REFINE_STEPS   2.0    /* while the deviation of ln c0 is less than so many steps */
#define REFINE_WIDTH   5.0    /* deviations to each side */
#define UNDERFLOW      1e-14  /* parts of the largest likelihood that do not matter */
#define LEAST_EVIDENCE 1e-280 /* of the largest likelihood, in place of none: its logarithm is finite */

/*
 * The model of run noise: by how much procedures vary from run to run.
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
 * and OUTLIER_SHARE of the rows are not of this kind: their ln c is uniform from ln c0 up, so that a few rows that vary
 * for a reason do not make the noise of the others look large. All integrals are sums over a grid of ln c, ln c0 and
 * sigma; the grid of ln c0 is refined where the rows know it well.
 *
 * A row is known by the likelihood of what was counted, at each point of c. Two questions are answered: which c a row
 * has that is like the others (what a test for more variation compares with), and which c a row has
 * by its own counts and the others together (what a difference of two means is divided by; the
 * moderated t-test).
 */

#define NOISE_POINTS 56 /* of c */
#define NOISE_NO_ROW ((size_t)-1)

static const double sigmas[SIGMAS] = {0.2, 0.3, 0.4, 0.5, 0.65, 0.85, 1.1};

struct run_noise {
	const struct noise_prior prior;
	const double (*likelihoods)[NOISE_POINTS];
	size_t count;
	double centres[CENTRES];             /* ln c0 */
	double regular[NOISE_POINTS][CELLS]; /* how probable c is, by ln c0 and sigma */
	double outlier[NOISE_POINTS][CELLS]; /* of an outlier row */
	double prior_logs[CELLS];            /* not normalized */
	double posterior_logs[CELLS];        /* by all rows; not normalized */
	double (*evidence)[CELLS];           /* by row: the logarithm of how likely it is */
};

static double
point_log(size_t index)
{
	return log(C_MIN) + (double)index * log(C_MAX / C_MIN) / (NOISE_POINTS - 1);
}

/* The c of point `index`: from C_MIN to C_MAX, at equal distances of the logarithm. */
static double
noise_point(size_t index)
{
	return exp(point_log(index));
}

/* A grid of ln c0 from `least` to `most`: for each cell the probabilities of c, and the prior. */
static void
set_grid(struct run_noise *noise, double least, double most)
{
	for (size_t i = 0; i < CENTRES; i++)
		noise->centres[i] = least + (double)i * (most - least) / (CENTRES - 1);
	for (size_t cell = 0; cell < CELLS; cell++) {
		const double centre = noise->centres[cell / SIGMAS], sigma = sigmas[cell % SIGMAS];
		const double from_median = (centre - log(noise->prior.median)) / noise->prior.spread;
		const double from_median_sigma = log(sigma / SIGMA_MEDIAN) / SIGMA_SPREAD;
		double regular = 0, outlier = 0;

		noise->prior_logs[cell] = -(from_median * from_median + from_median_sigma * from_median_sigma) / 2;
		for (size_t i = 0; i < NOISE_POINTS; i++) {
			const double distance = (point_log(i) - centre) / sigma;

			noise->regular[i][cell] = exp(-distance * distance / 2);
			noise->outlier[i][cell] = distance > 0 || i == NOISE_POINTS - 1;
			regular += noise->regular[i][cell];
			outlier += noise->outlier[i][cell];
		}
		for (size_t i = 0; i < NOISE_POINTS; i++) {
			noise->regular[i][cell] *= (1 - OUTLIER_SHARE) / regular;
			noise->outlier[i][cell] *= OUTLIER_SHARE / outlier;
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
				evidence[cell] += likelihood[i] * (noise->regular[i][cell] + noise->outlier[i][cell]);
		}
		for (size_t cell = 0; cell < CELLS; cell++) {
			evidence[cell] = log(evidence[cell] + most * LEAST_EVIDENCE);
			noise->posterior_logs[cell] += evidence[cell];
		}
	}
}

/* Probability of each cell by all rows but `excluded`. */
static void
weigh_cells(const struct run_noise *noise, size_t excluded, double weights[CELLS])
{
	double most = -INFINITY, sum = 0;

	for (size_t cell = 0; cell < CELLS; cell++) {
		weights[cell] = noise->posterior_logs[cell];
		if (excluded < noise->count)
			weights[cell] -= noise->evidence[excluded][cell];
		most = fmax(most, weights[cell]);
	}
	for (size_t cell = 0; cell < CELLS; cell++)
		sum += weights[cell] = exp(weights[cell] - most);
	for (size_t cell = 0; cell < CELLS; cell++)
		weights[cell] /= sum;
}

/* c0 by all rows but `excluded`: exp of the mean of its logarithm; and the deviation of that, if `spread` is not NULL.
 */
static double
noise_typical(const struct run_noise *noise, size_t excluded, double *spread)
{
	double weights[CELLS], mean = 0, square = 0;

	weigh_cells(noise, excluded, weights);
	for (size_t cell = 0; cell < CELLS; cell++)
		mean += weights[cell] * noise->centres[cell / SIGMAS];
	for (size_t cell = 0; cell < CELLS; cell++)
		square += weights[cell] * pow(noise->centres[cell / SIGMAS] - mean, 2);
	if (spread)
		*spread = sqrt(square);
	return exp(mean);
}

/* NULL is allowed. */
static void
run_noise_free(struct run_noise *noise)
{
	if (noise)
		free(noise->evidence);
	free(noise);
}

/*
 * Make it of `count` rows with NOISE_POINTS likelihoods each (of any scale; not all 0), which are borrowed. NULL when
 * memory ends.
 */
static struct run_noise *
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
	for (int refinement = 0;; refinement++) {
		const double step = (most - least) / (CENTRES - 1);

		set_grid(noise, least, most);
		weigh_rows(noise);
		mean = log(noise_typical(noise, NOISE_NO_ROW, &spread));
		if (refinement == REFINEMENTS || spread >= REFINE_STEPS * step)
			return noise;
		spread = fmax(spread, step / 2);
		least = fmax(least, mean - REFINE_WIDTH * spread);
		most = fmin(most, mean + REFINE_WIDTH * spread);
	}
}

/*
 * Probability of each c of row `row`, which may be an outlier, by its counts; or, with `is_excluded`, of a row that is
 * like all the others (NOISE_NO_ROW: like all). The sum is 1.
 */
static void
noise_probabilities(const struct run_noise *noise, size_t row, bool is_excluded, double probabilities[NOISE_POINTS])
{
	double weights[CELLS], sum = 0;

	weigh_cells(noise, row, weights);
	for (size_t i = 0; i < NOISE_POINTS; i++) {
		probabilities[i] = 0;
		for (size_t cell = 0; cell < CELLS; cell++)
			probabilities[i] +=
				weights[cell] * (is_excluded ? noise->regular[i][cell]
			                                     : noise->regular[i][cell] + noise->outlier[i][cell]);
		if (!is_excluded)
			probabilities[i] *= noise->likelihoods[row][i];
		sum += probabilities[i];
	}
	for (size_t i = 0; i < NOISE_POINTS; i++)
		probabilities[i] /= sum;
}

/* Rows while they are tested. */
struct variation_testing {
	const struct variation_request *request;
	struct variation_row *rows;
	size_t row_count;
	size_t *tested; /* indices of the rows that are, most samples first */
	size_t count, witness_count;
	double (*likelihoods)[NOISE_POINTS]; /* by witness */
	struct run_noise *noise;
	double degrees, median; /* of chi-square */
};

static double
weight_of(const struct variation_row *row, size_t set)
{
	return row->weights ? row->weights[set] : 1;
}

/* Effective samples of the row: what is random as a count. */
static double
samples_of(const struct variation_row *row, size_t set)
{
	return (double)row->counts[set] / weight_of(row, set);
}

/* What a sample of the row is multiplied by. */
static double
factor_of(const struct variation_request *request, const struct variation_row *row, size_t set)
{
	return request->factors[set] * weight_of(row, set);
}

/* Mean and deviation by Welford's recurrences (Technometrics 4, 1962): large counts lose nothing to their squares. */
static void
describe_row(const struct variation_request *request, struct variation_row *row)
{
	double squares = 0, samples = 0, exposure = 0;

	row->sum = row->mean = row->most = 0;
	row->set_count = 0;
	row->least = INFINITY;
	for (size_t i = 0; i < request->set_count; i++) {
		const double value = (double)row->counts[i] * request->factors[i], distance = value - row->mean;

		row->mean += distance / (double)(i + 1);
		squares += distance * (value - row->mean);
		row->sum += value;
		row->least = fmin(row->least, value);
		row->most = fmax(row->most, value);
		row->set_count += row->counts[i] > 0;
		samples += samples_of(row, i);
		exposure += 1 / factor_of(request, row, i);
	}
	row->deviation = sqrt(squares / ((double)request->set_count - 1));
	row->range = row->sum > 0 ? (row->most - row->least) / row->sum : 0;
	row->mean_count = samples / exposure;
	row->is_tested = samples >= VARIATION_LEAST * (double)request->set_count;
	row->p = 1;
	row->noise = row->own_noise = row->statistic = 0;
}

/* The part of all that the row is, where it is a part: it cannot vary by what it would if it were alone. */
static double
part_of_total(const struct variation_request *request, const struct variation_row *row)
{
	double samples = 0, totals = 0;

	if (!request->totals)
		return 0;
	for (size_t i = 0; i < request->set_count; i++) {
		samples += (double)row->counts[i];
		totals += request->totals[i];
	}
	return totals > samples ? samples / totals : 0;
}

/*
 * The sum of squared distances, each divided by its variance. *log_variance: the mean of the variances' logarithms.
 */
static double
spread_at(const struct variation_request *request, const struct variation_row *row, double noise_square,
          double *log_variance)
{
	const double rest = 1 - part_of_total(request, row);
	double sum = 0, logs = 0;

	for (size_t i = 0; i < request->set_count; i++) {
		const double mean = row->mean_count / factor_of(request, row, i);
		const double variance = rest * mean * (1 + noise_square * mean);

		sum += pow(samples_of(row, i) - mean, 2) / variance;
		logs += log(variance);
	}
	*log_variance = logs / (double)request->set_count;
	return sum;
}

/* The c squared at which the row's spread is the median of chi-square. */
static double
own_square(const struct variation_testing *test, const struct variation_row *row)
{
	double low = 0, high = 1, ignored;

	if (spread_at(test->request, row, 0, &ignored) <= test->median)
		return 0;
	while (high < NOISE_MAX && spread_at(test->request, row, high, &ignored) > test->median)
		high *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		const double middle = (low + high) / 2;

		if (spread_at(test->request, row, middle, &ignored) > test->median)
			low = middle;
		else
			high = middle;
	}
	return sqrt(low * high);
}

/* Likelihood of the row's counts at each c: normal, the mean being taken from them (restricted likelihood). */
static void
find_likelihoods(const struct variation_testing *test, const struct variation_row *row,
                 double likelihoods[NOISE_POINTS])
{
	double most = -INFINITY;

	for (size_t i = 0; i < NOISE_POINTS; i++) {
		double log_variance;
		const double sum = spread_at(test->request, row, pow(noise_point(i), 2), &log_variance);

		likelihoods[i] = -(test->degrees * log_variance + sum) / 2;
		most = fmax(most, likelihoods[i]);
	}
	for (size_t i = 0; i < NOISE_POINTS; i++)
		likelihoods[i] = exp(likelihoods[i] - most);
}

static int
compare_samples(const void *left, const void *right, void *context)
{
	const struct variation_row *rows = context;
	const double a = rows[*(const size_t *)left].mean_count, b = rows[*(const size_t *)right].mean_count;

	return (a < b) - (a > b);
}

/* Which rows are tested, and the model of noise by those with the most samples. */
static int
find_witnesses(struct variation_testing *test)
{
	const struct noise_prior stated = {NOISE_PRIOR_MEDIAN, NOISE_PRIOR_SPREAD};
	const struct noise_prior *prior = test->request->prior ? test->request->prior : &stated;

	test->tested = calloc(test->row_count + 1, sizeof(*test->tested));
	if (!test->tested)
		return -ENOMEM;
	for (size_t i = 0; i < test->row_count; i++) {
		if (!test->rows[i].is_tested)
			continue;
		test->rows[i].own_noise = sqrt(own_square(test, &test->rows[i]));
		test->tested[test->count++] = i;
	}
	if (test->request->noise >= 0)
		return 0;
	qsort_r(test->tested, test->count, sizeof(*test->tested), compare_samples, test->rows);
	test->witness_count = test->count < WITNESSES_MAX ? test->count : WITNESSES_MAX;
	test->likelihoods = calloc(test->witness_count + 1, sizeof(*test->likelihoods));
	if (!test->likelihoods)
		return -ENOMEM;
	for (size_t i = 0; i < test->witness_count; i++)
		find_likelihoods(test, &test->rows[test->tested[i]], test->likelihoods[i]);
	test->noise = run_noise_new(prior, (const double(*)[NOISE_POINTS])test->likelihoods, test->witness_count);
	return test->noise ? 0 : -ENOMEM;
}

/* Against a c that was given. */
static void
test_against(const struct variation_testing *test, struct variation_row *row, double noise)
{
	double ignored;
	const double sum = spread_at(test->request, row, noise * noise, &ignored);

	row->noise = noise;
	row->statistic = sum / test->degrees;
	row->p = statistics_chi_square_tail(sum, test->degrees);
}

/*
 * How probable it is that the row's spread is what it is or more, if its coefficient of variation is `noise`. The part
 * of its variance that is sampling's is known as if by CLUSTER_DEGREES; see variation.h.
 */
static double
tail_at(const struct variation_testing *test, const struct variation_row *row, double noise)
{
	const double noise_square = noise * noise, sampling = 1 / (1 + noise_square * row->mean_count);
	double ignored;

	return statistics_f_tail(spread_at(test->request, row, noise_square, &ignored) / test->degrees, test->degrees,
	                         CLUSTER_DEGREES / (sampling * sampling));
}

/* Against each c that a row like the others may have, by how probable it is. */
static void
test_against_others(const struct variation_testing *test, struct variation_row *row, size_t witness)
{
	double probabilities[NOISE_POINTS], p = 0;

	test_against(test, row, noise_typical(test->noise, witness, NULL));
	noise_probabilities(test->noise, witness, true, probabilities);
	for (size_t i = 0; i < NOISE_POINTS; i++)
		if (probabilities[i] > VARIATION_NEGLIGIBLE)
			p += probabilities[i] * tail_at(test, row, noise_point(i));
	row->p = p;
}

static void
set_typical_noise(const struct run_noise *noise, size_t tested, struct variation *variation)
{
	double spread;

	variation->noise = noise_typical(noise, NOISE_NO_ROW, &spread);
	variation->noise_least = variation->noise * exp(-NINE_OF_TEN * spread);
	variation->noise_most = variation->noise * exp(NINE_OF_TEN * spread);
	variation->tested = tested;
}

static void
test_rows(const struct variation_testing *test, struct variation *variation)
{
	const struct variation_request *request = test->request;

	variation->noise = variation->noise_least = variation->noise_most = request->noise;
	variation->tested = test->count;
	for (size_t i = 0; i < test->count; i++) {
		struct variation_row *row = &test->rows[test->tested[i]];

		if (request->noise >= 0)
			test_against(test, row, request->noise);
		else
			test_against_others(test, row, i < test->witness_count ? i : NOISE_NO_ROW);
	}
	if (request->noise >= 0)
		return;
	set_typical_noise(test->noise, test->count, variation);
}

static int
adjust_p(const struct variation_testing *test)
{
	double *p = calloc(test->count + 1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < test->count; i++)
		p[i] = test->rows[test->tested[i]].p;
	err = statistics_holm(p, test->count);
	for (size_t i = 0; i < test->count && !err; i++)
		test->rows[test->tested[i]].p = p[i];
	free(p);
	return err;
}

static bool
is_sound(const struct variation_request *request)
{
	if (request->set_count < 2 || request->set_count > VARIATION_SETS_MAX)
		return false;
	for (size_t i = 0; i < request->set_count; i++)
		if (!(request->factors[i] > 0) || isinf(request->factors[i]))
			return false;
	return true;
}

int
variation_test(const struct variation_request *request, struct variation_row *rows, size_t count,
               struct variation *variation)
{
	struct variation_testing test = {.request = request, .rows = rows, .row_count = count};
	int err;

	memset(variation, 0, sizeof(*variation));
	if (!is_sound(request))
		return -EINVAL;
	test.degrees = (double)request->set_count - 1;
	test.median = statistics_chi_square_median(test.degrees);
	for (size_t i = 0; i < count; i++)
		describe_row(request, &rows[i]);
	err = find_witnesses(&test);
	if (!err) {
		test_rows(&test, variation);
		err = adjust_p(&test);
	}
	run_noise_free(test.noise);
	free(test.likelihoods);
	free(test.tested);
	return err;
}

/* What sets and totals of two sides come to, for a row with totals of its own. */
struct two_sides {
	const struct variation_sides *request;
	const double *by_set;
	double totals[2];
	double squares[2]; /* sum of the squares of the sets' parts of their side's total: 1 / sets when they are alike
	                    */
	size_t counts[2];  /* sets */
};

/* Shares of a row on both sides, and how many samples it has in a set at least, on average, on the better side. */
static void
find_shares(const struct two_sides *sides, const uint64_t *counts, double shares[2], double samples[2])
{
	samples[0] = samples[1] = 0;
	for (size_t i = 0; i < sides->request->set_count; i++)
		samples[sides->request->is_after[i]] += (double)counts[i];
	for (unsigned side = 0; side < 2; side++)
		shares[side] = samples[side] / sides->totals[side];
}

/* Likelihood of the row's counts at each c, by how sets of one side differ; false when there are too few samples. */
static bool
find_likelihoods_of_sides(const struct two_sides *sides, const uint64_t *counts, double likelihoods[NOISE_POINTS])
{
	const struct variation_sides *request = sides->request;
	double shares[2], samples[2], most = -INFINITY;
	bool has[2], any = false;

	find_shares(sides, counts, shares, samples);
	for (unsigned side = 0; side < 2; side++) {
		has[side] = sides->counts[side] > 1 && samples[side] >= VARIATION_LEAST * (double)sides->counts[side] &&
		            shares[side] < 1;
		any |= has[side];
	}
	for (size_t point = 0; point < NOISE_POINTS; point++) {
		const double square = pow(noise_point(point), 2);
		double logs[2] = {0}, sum = 0, degrees;

		for (size_t i = 0; i < request->set_count; i++) {
			const unsigned side = request->is_after[i];
			const double mean = shares[side] * sides->by_set[i];
			const double variance = (1 - shares[side]) * mean * (1 + square * mean);

			if (!has[side])
				continue;
			sum += pow((double)counts[i] - mean, 2) / variance;
			logs[side] += log(variance);
		}
		likelihoods[point] = -sum / 2;
		for (unsigned side = 0; side < 2; side++) {
			degrees = (double)sides->counts[side] - 1;
			likelihoods[point] -= degrees / (degrees + 1) * logs[side] / 2;
		}
		most = fmax(most, likelihoods[point]);
	}
	for (size_t point = 0; point < NOISE_POINTS; point++)
		likelihoods[point] = exp(likelihoods[point] - most);
	return any;
}

/* The distance that a normal variable with one of these deviations (times c) is beyond in 1 - `confidence` of all
 * cases. */
static double
distance_of(const double probabilities[NOISE_POINTS], double deviation, double confidence)
{
	double low = 1e-3 * noise_point(0) * deviation, high = 100 * noise_point(NOISE_POINTS - 1) * deviation;

	for (int i = 0; i < DISTANCE_HALVINGS && deviation > 0; i++) {
		const double middle = sqrt(low * high);
		double beyond = 0;

		for (size_t point = 0; point < NOISE_POINTS; point++)
			if (probabilities[point] > VARIATION_NEGLIGIBLE)
				beyond += probabilities[point] *
				          erfc(middle / (noise_point(point) * deviation * M_SQRT2));
		if (beyond > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static void
compare_sides(const struct two_sides *sides, const double probabilities[NOISE_POINTS], struct variation_difference *row)
{
	const double *totals = sides->totals, *squares = sides->squares;
	double shares[2], samples[2], pooled, sampling, noise;

	find_shares(sides, row->counts, shares, samples);
	pooled = (samples[0] + samples[1]) / (totals[0] + totals[1]);
	sampling = pooled * (1 - pooled) * (1 / totals[0] + 1 / totals[1]);
	noise = pooled * pooled * (1 - pooled) * (squares[0] + squares[1]);
	row->p = sampling > 0 ? 0 : 1;
	for (size_t point = 0; point < NOISE_POINTS && sampling > 0; point++) {
		if (probabilities[point] <= VARIATION_NEGLIGIBLE)
			continue;
		const double variance = sampling + pow(noise_point(point), 2) * noise;

		row->p += probabilities[point] * erfc(fabs(shares[1] - shares[0]) / sqrt(2 * variance));
	}
	noise = 0;
	for (unsigned side = 0; side < 2; side++)
		noise += pow(shares[side], 2) * (1 - shares[side]) * squares[side];
	row->change = distance_of(probabilities, sqrt(noise), sides->request->confidence);
	row->ratio = distance_of(probabilities, sqrt(squares[0] + squares[1]), sides->request->confidence);
}

static bool
find_sides(const struct variation_sides *request, const double *totals, struct two_sides *sides)
{
	*sides = (struct two_sides){.request = request, .by_set = totals ? totals : request->totals};
	if (request->set_count < 3 || request->set_count > VARIATION_SETS_MAX)
		return false;
	for (size_t i = 0; i < request->set_count; i++) {
		if (!(sides->by_set[i] > 0))
			return false;
		sides->totals[request->is_after[i]] += sides->by_set[i];
		sides->counts[request->is_after[i]]++;
	}
	for (size_t i = 0; i < request->set_count; i++)
		sides->squares[request->is_after[i]] += pow(sides->by_set[i] / sides->totals[request->is_after[i]], 2);
	return sides->counts[0] > 0 && sides->counts[1] > 0;
}

int
variation_compare(const struct variation_sides *request, struct variation_difference *rows, size_t count,
                  struct variation *variation)
{
	const struct noise_prior stated = {NOISE_PRIOR_MEDIAN, NOISE_PRIOR_SPREAD};
	double(*likelihoods)[NOISE_POINTS] = calloc(count + 1, sizeof(*likelihoods)), typical[NOISE_POINTS];
	size_t *witnesses = calloc(count + 1, sizeof(*witnesses)), tested = 0;
	struct run_noise *noise = NULL;
	struct two_sides sides;
	int err = -EINVAL;

	memset(variation, 0, sizeof(*variation));
	if (!find_sides(request, NULL, &sides))
		goto out;
	err = -ENOMEM;
	if (!likelihoods || !witnesses)
		goto out;
	for (size_t i = 0; i < count; i++) {
		witnesses[i] = NOISE_NO_ROW;
		if (!find_sides(request, rows[i].totals, &sides)) {
			err = -EINVAL;
			goto out;
		}
		if (tested < WITNESSES_MAX && find_likelihoods_of_sides(&sides, rows[i].counts, likelihoods[tested]))
			witnesses[i] = tested++;
	}
	noise = run_noise_new(request->prior ? request->prior : &stated, (const double(*)[NOISE_POINTS])likelihoods,
	                      tested);
	if (!noise)
		goto out;
	noise_probabilities(noise, NOISE_NO_ROW, true, typical);
	set_typical_noise(noise, tested, variation);
	for (size_t i = 0; i < count; i++) {
		double own[NOISE_POINTS];

		if (witnesses[i] != NOISE_NO_ROW)
			noise_probabilities(noise, witnesses[i], false, own);
		(void)find_sides(request, rows[i].totals, &sides);
		compare_sides(&sides, witnesses[i] != NOISE_NO_ROW ? own : typical, &rows[i]);
	}
	err = 0;
out:
	run_noise_free(noise);
	free(witnesses);
	free(likelihoods);
	return err;
}

int
variation_outliers(const double *totals, const double *factors, size_t count, double noise, double *median,
                   double *above)
{
	double *values = calloc(count + 1, sizeof(*values));
	double distance;

	if (!values)
		return -ENOMEM;
	if (count > 0)
		memcpy(values, totals, count * sizeof(*values));
	*median = statistics_median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(totals[i] - *median);
	distance = NORMAL_DISTANCE * statistics_median(values, count);
	for (size_t i = 0; i < count; i++) {
		double expected = sqrt(*median * factors[i] + pow(noise * *median, 2));
		bool is_far = fabs(totals[i] - *median) > OUTLIER_DISTANCE * fmax(distance, expected);

		above[i] = is_far && count >= 4 && *median > 0 ? totals[i] / *median - 1 : 0;
	}
	free(values);
	return 0;
}
