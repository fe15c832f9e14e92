#include "analysis/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STEPS_MAX 100000 /* of a series or a fraction, which need some square roots of the degrees */
#define PRECISION 1e-15
#define TINY      1e-300

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

	for (int n = 1; n < STEPS_MAX && term > sum * PRECISION; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(a * log(x) - x - log_gamma(a));
}

/* A continued fraction, a term at a time (Lentz: Applied Optics 15, 1976). */
struct fraction {
	double value, c, d;
	double change; /* what the last term multiplied the value with */
};

static void
fraction_begin(struct fraction *fraction, double first)
{
	fraction->value = fabs(first) < TINY ? TINY : first;
	fraction->c = fraction->value;
	fraction->d = 0;
	fraction->change = 0;
}

static void
fraction_term(struct fraction *fraction, double numerator, double denominator)
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
	struct fraction fraction;

	fraction_begin(&fraction, x + 1 - a);
	for (int n = 1; n < STEPS_MAX && fabs(fraction.change - 1) > PRECISION; n++)
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
	struct fraction fraction;

	fraction_begin(&fraction, 1);
	for (int m = 0; m < STEPS_MAX && fabs(fraction.change - 1) > PRECISION; m++) {
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

struct ranked {
	double p;
	size_t index;
};

static int
compare_ranked(const void *left, const void *right)
{
	return compare_values(&((const struct ranked *)left)->p, &((const struct ranked *)right)->p);
}

int
statistics_holm(double *p, size_t count)
{
	struct ranked *ranked = calloc(count + 1, sizeof(*ranked));
	double least = 0;

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		least = fmax(least, fmin(1, ranked[i].p * (double)(count - i)));
		p[ranked[i].index] = least;
	}
	free(ranked);
	return 0;
}
