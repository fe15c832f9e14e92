#include "analysis/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define STATISTICS_STEPS_MAX  100000 /* of a series or a fraction, which need some square roots of the degrees */
#define PRECISION             1e-15
#define TINY                  1e-300
#define Z_MAX                 40.0
#define STATISTICS_NEGLIGIBLE 1e-12 /* of a sum, a term that ends it */

static double
log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* P(a, x) by its series, for x < a + 1. */
static double
gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < STATISTICS_STEPS_MAX && term > sum * PRECISION; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(a * log(x) - x - log_gamma(a));
}

/* A continued fraction, a term at a time (Lentz: Applied Optics 15, 1976). */
struct continued_fraction {
	double value, c, d;
	double change; /* what the last term multiplied the value with */
};

static void
fraction_begin(struct continued_fraction *fraction, double first)
{
	fraction->value = fabs(first) < TINY ? TINY : first;
	fraction->c = fraction->value;
	fraction->d = 0;
	fraction->change = 0;
}

static void
fraction_term(struct continued_fraction *fraction, double numerator, double denominator)
{
	fraction->d = denominator + numerator * fraction->d;
	fraction->c = denominator + numerator / fraction->c;
	if (fabs(fraction->d) < TINY)
		fraction->d = TINY;
	if (fabs(fraction->c) < TINY)
		fraction->c = TINY;
	fraction->d = 1 / fraction->d;
	fraction->change = fraction->c * fraction->d;
	fraction->value *= fraction->change;
}

/* Q(a, x), for x >= a + 1. */
static double
gamma_fraction(double a, double x)
{
	struct continued_fraction fraction;

	fraction_begin(&fraction, x + 1 - a);
	for (int n = 1; n < STATISTICS_STEPS_MAX && fabs(fraction.change - 1) > PRECISION; n++)
		fraction_term(&fraction, -n * (n - a), x + 1 - a + 2 * n);
	return exp(a * log(x) - x - log_gamma(a)) / fraction.value;
}

double
statistics_chi_square_tail(double x, double degrees)
{
	double a = degrees / 2;

	if (!(x > 0))
		return 1;
	x /= 2;
	return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* I_x(a, b), for x < (a + 1) / (a + b + 2). */
static double
beta_fraction(double a, double b, double x)
{
	struct continued_fraction fraction;

	fraction_begin(&fraction, 1);
	for (int m = 0; m < STATISTICS_STEPS_MAX && fabs(fraction.change - 1) > PRECISION; m++) {
		fraction_term(&fraction, -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1);
		fraction_term(&fraction, (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)), 1);
	}
	return exp(a * log(x) + b * log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)) / (a * fraction.value);
}

double
statistics_f_tail(double f, double numerator, double denominator)
{
	double a = denominator / 2, b = numerator / 2, x;

	if (!(f > 0) || !(denominator > 0))
		return 1;
	x = denominator / (denominator + numerator * f);
	if (x < (a + 1) / (a + b + 2))
		return beta_fraction(a, b, x);
	return 1 - beta_fraction(b, a, numerator * f / (denominator + numerator * f));
}

double
statistics_chi_square_median(double degrees)
{
	double low = 0, high = degrees + 1; /* the median is below the mean */

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (statistics_chi_square_tail(middle, degrees) > 0.5)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static int
compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double
statistics_median(double *values, size_t count)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), compare_values);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int
compare_weighted(const void *a, const void *b)
{
	const struct weighted_value *one = a, *other = b;

	return (one->value > other->value) - (one->value < other->value);
}

double
statistics_weighted_median(struct weighted_value *list, size_t count)
{
	double half = 0, sum = 0;

	if (count == 0)
		return 0;
	qsort(list, count, sizeof(*list), compare_weighted);
	for (size_t i = 0; i < count; i++)
		half += list[i].weight / 2;
	for (size_t i = 0; i < count; i++) {
		sum += list[i].weight;
		if (sum > 0 && sum >= half)
			return list[i].value;
	}
	return 0;
}

struct ranked_p {
	double p;
	size_t index;
};

static int
compare_ranked(const void *left, const void *right)
{
	return compare_values(&((const struct ranked_p *)left)->p, &((const struct ranked_p *)right)->p);
}

int
statistics_holm(double *p, size_t count)
{
	struct ranked_p *ranked = calloc(count + 1, sizeof(*ranked));
	double least = 0;

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked_p){p[i], i};
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		least = fmax(least, fmin(1, ranked[i].p * (double)(count - i)));
		p[ranked[i].index] = least;
	}
	free(ranked);
	return 0;
}

double
statistics_z(double confidence)
{
	double low = 0, high = Z_MAX;

	for (int i = 0; i < 100; i++) {
		const double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

struct statistics_interval
statistics_share_interval(double k, double n, double z)
{
	const double square = z * z;
	double center, half;

	if (!(n > 0))
		return (struct statistics_interval){0, 1};
	center = (k + square / 2) / (n + square);
	half = z / (n + square) * sqrt(k * (n - k) / n + square / 4);
	return (struct statistics_interval){k > 0 ? fmax(center - half, 0) : 0, k < n ? fmin(center + half, 1) : 1};
}

static double
share(double k, double n)
{
	return n > 0 ? k / n : 0;
}

struct statistics_interval
statistics_difference_interval(const double k[2], const double n[2], double z)
{
	const struct statistics_interval before = statistics_share_interval(k[0], n[0], z),
					 after = statistics_share_interval(k[1], n[1], z);
	const double was = share(k[0], n[0]), is = share(k[1], n[1]);

	return (struct statistics_interval){
		.least = is - was - hypot(is - after.least, before.most - was),
		.most = is - was + hypot(after.most - is, was - before.least),
	};
}

static double
odds(double probability, const double weight[2])
{
	return probability / (1 - probability) * weight[1] / weight[0];
}

struct statistics_interval
statistics_ratio_interval(const double k[2], const double weight[2], double z)
{
	const struct statistics_interval after = statistics_share_interval(k[1], k[0] + k[1], z);

	return (struct statistics_interval){
		.least = odds(after.least, weight),
		.most = after.most >= 1 ? INFINITY : odds(after.most, weight),
	};
}

static double
log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* The probability of `x` or more of `marked` among `drawn` of `all`. */
static double
upper_tail(double all, double marked, double drawn, double x)
{
	double term = exp(log_choose(marked, x) + log_choose(all - marked, drawn - x) - log_choose(all, drawn));
	double sum = term;

	while (x < marked && x < drawn && term >= sum * STATISTICS_NEGLIGIBLE) {
		term *= (marked - x) * (drawn - x) / ((x + 1) * (all - marked - drawn + x + 1));
		sum += term;
		x += 1;
	}
	return sum;
}

double
statistics_fisher_exact(const uint64_t k[2], const uint64_t n[2])
{
	const double all = (double)n[0] + (double)n[1], marked = (double)k[0] + (double)k[1];
	bool more; /* k[1] is above its expected value */

	if (marked == 0 || n[0] == 0 || n[1] == 0)
		return 1;
	more = share((double)k[1], (double)n[1]) > share((double)k[0], (double)n[0]);
	return fmin(1, 2 * upper_tail(all, marked, (double)n[more], (double)k[more]));
}
