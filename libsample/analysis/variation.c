#include "analysis/variation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"

#define MEDIAN_EFFICIENCY 0.57 /* of an estimate of chi-square's scale by its median, to that by its mean */
#define LONE_WEIGHT       0.02 /* rows that know more of c than this part of all are tested against the others alone */
#define NATURE_DEGREES    8    /* see variation.h, as the next */
#define CLUSTER_DEGREES   12
#define WEIGHT_PART       0.25 /* of the weight of all witnesses that one has at most */
#define LIMIT_STEPS       20
#define HALVINGS          40  /* of an interval, to find c squared */
#define NOISE_MAX         1e6 /* c squared: nothing is random above */
#define OUTLIER_DISTANCE  3.5
#define NORMAL_DISTANCE   1.4826 /* standard deviations of a median distance */

/* What a row knows of c. */
struct witness {
	double mean;   /* samples a set */
	double square; /* c squared, by its own spread; 0: it varies no more than samples do */
	size_t row;
};

struct test {
	const struct variation_request *request;
	struct variation_row *rows;
	size_t row_count;
	struct witness *witnesses; /* of the rows that are tested, by square descending */
	size_t count;
	double median; /* of chi-square */
	double degrees;
};

/* Mean and deviation by Welford's recurrences (Technometrics 4, 1962): large counts lose nothing to their squares. */
static void
describe(const struct variation_request *request, struct variation_row *row)
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
		samples += (double)row->counts[i];
		exposure += 1 / request->factors[i];
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

/* The sum of squared distances, each divided by its variance. */
static double
spread(const struct variation_request *request, const struct variation_row *row, double noise_square)
{
	const double rest = 1 - part_of_total(request, row);
	double sum = 0;

	for (size_t i = 0; i < request->set_count; i++) {
		double mean = row->mean_count / request->factors[i];

		sum += pow((double)row->counts[i] - mean, 2) / (mean * (rest + noise_square * mean));
	}
	return sum;
}

/* The c squared at which the row's spread is the median of chi-square. */
static double
own_square(const struct test *test, const struct variation_row *row)
{
	double low = 0, high = 1;

	if (spread(test->request, row, 0) <= test->median)
		return 0;
	while (high < NOISE_MAX && spread(test->request, row, high) > test->median)
		high *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (spread(test->request, row, middle) > test->median)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double
witness_weight(const struct witness *witness, double square)
{
	return witness->mean / (1 + square * witness->mean);
}

/* What no witness but row `but` may weigh more than, for none is to be more than a part of the weight of all. */
static double
weight_limit(const struct test *test, double square, size_t but)
{
	double limit = INFINITY;

	for (int i = 0; i < LIMIT_STEPS; i++) {
		double all = 0, most = 0, least = INFINITY;

		for (size_t j = 0; j < test->count; j++) {
			double weight = witness_weight(&test->witnesses[j], square);

			if (test->witnesses[j].row == but)
				continue;
			least = fmin(least, weight);
			all += fmin(weight, limit);
			most = fmax(most, fmin(weight, limit));
		}
		if (most <= fmax(all * WEIGHT_PART, least))
			break;
		limit = fmax(all * WEIGHT_PART, least);
	}
	return limit;
}

/* Do the witnesses but for row `but` say that c squared is more than `square`? *knowledge: what they know at it. */
static bool
is_more(const struct test *test, double square, size_t but, double *knowledge)
{
	const double limit = weight_limit(test, square, but);
	double above = 0, all = 0, known = 0, squares = 0;

	for (size_t i = 0; i < test->count; i++) {
		const struct witness *witness = &test->witnesses[i];
		double full = witness_weight(witness, square), weight = fmin(full, limit);

		if (witness->row == but)
			continue;
		all += weight;
		known += weight * full;
		squares += weight * weight;
		if (witness->square > square)
			above += weight;
	}
	*knowledge = squares > 0 ? known * known / squares : 0;
	return above > all / 2;
}

/* The weighted median of what the witnesses but for row `but` say of c squared. */
static double
estimate_square(const struct test *test, size_t but, double *knowledge)
{
	double low = 0, high = 0;

	for (size_t i = 0; i < test->count; i++)
		high = fmax(high, test->witnesses[i].square);
	if (!is_more(test, 0, but, knowledge))
		return 0;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (is_more(test, middle, but, knowledge))
			low = middle;
		else
			high = middle;
	}
	is_more(test, high, but, knowledge);
	return high;
}

static int
find_witnesses(struct test *test)
{
	test->witnesses = calloc(test->row_count + 1, sizeof(*test->witnesses));
	if (!test->witnesses)
		return -ENOMEM;
	for (size_t i = 0; i < test->row_count; i++) {
		struct variation_row *row = &test->rows[i];
		double square;

		if (!row->is_tested)
			continue;
		square = own_square(test, row);
		row->own_noise = sqrt(square);
		test->witnesses[test->count++] = (struct witness){row->mean_count, square, i};
	}
	return 0;
}

/*
 * The degrees with which a row's variance, in units of its mean, is known: c squared is an estimate, known as well as
 * `knowledge` says, the row's own may be another, and its samples may come in clusters.
 */
static double
denominator(const struct test *test, const struct variation_row *row, double square, double knowledge)
{
	double variance = 1 + square * row->mean_count;
	double estimate = 1 / (MEDIAN_EFFICIENCY * test->degrees * knowledge) * pow(row->mean_count / variance, 2);
	double nature = pow(square * row->mean_count / variance, 2) / NATURE_DEGREES;
	double clusters = pow(1 / variance, 2) / CLUSTER_DEGREES;

	return 1 / (estimate + nature + clusters);
}

/* Against a c that is known as well as `knowledge` says: INFINITY when it was given. */
static void
test_row(const struct test *test, struct variation_row *row, double square, double knowledge)
{
	row->noise = sqrt(square);
	row->statistic = spread(test->request, row, square) / test->degrees;
	if (isinf(knowledge))
		row->p = statistics_chi_square_tail(row->statistic * test->degrees, test->degrees);
	else
		row->p = statistics_f_tail(row->statistic, test->degrees, denominator(test, row, square, knowledge));
}

static void
test_rows(const struct test *test, struct variation *variation)
{
	const bool is_given = test->request->noise >= 0;
	double all = INFINITY, weights = 0, square;

	square = is_given ? pow(test->request->noise, 2) : estimate_square(test, test->row_count, &all);
	for (size_t i = 0; i < test->count; i++)
		weights += witness_weight(&test->witnesses[i], square);
	for (size_t i = 0; i < test->count; i++) {
		const struct witness *witness = &test->witnesses[i];
		double others = square, knowledge = all;

		if (!is_given && witness_weight(witness, square) >= LONE_WEIGHT * weights)
			others = estimate_square(test, witness->row, &knowledge);
		test_row(test, &test->rows[witness->row], others, knowledge);
	}
	variation->noise = sqrt(square);
	variation->tested = test->count;
}

static int
adjust(const struct test *test)
{
	double *p = calloc(test->count + 1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < test->count; i++)
		p[i] = test->rows[test->witnesses[i].row].p;
	err = statistics_holm(p, test->count);
	for (size_t i = 0; i < test->count && !err; i++)
		test->rows[test->witnesses[i].row].p = p[i];
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
	struct test test = {.request = request, .rows = rows, .row_count = count};
	int err;

	memset(variation, 0, sizeof(*variation));
	if (!is_sound(request))
		return -EINVAL;
	test.degrees = (double)request->set_count - 1;
	test.median = statistics_chi_square_median(test.degrees);
	for (size_t i = 0; i < count; i++)
		describe(request, &rows[i]);
	err = find_witnesses(&test);
	if (!err) {
		test_rows(&test, variation);
		err = adjust(&test);
	}
	free(test.witnesses);
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
