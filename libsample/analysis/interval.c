#include "analysis/interval.h"

#include <math.h>
#include <stdbool.h>

#define Z_MAX      40.0
#define NEGLIGIBLE 1e-12 /* of a sum, a term that ends it */

double
interval_z(double confidence)
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

struct interval
interval_share(double k, double n, double z)
{
	const double square = z * z;
	double center, half;

	if (!(n > 0))
		return (struct interval){0, 1};
	center = (k + square / 2) / (n + square);
	half = z / (n + square) * sqrt(k * (n - k) / n + square / 4);
	return (struct interval){k > 0 ? fmax(center - half, 0) : 0, k < n ? fmin(center + half, 1) : 1};
}

static double
share(double k, double n)
{
	return n > 0 ? k / n : 0;
}

struct interval
interval_difference(const double k[2], const double n[2], double z)
{
	const struct interval before = interval_share(k[0], n[0], z), after = interval_share(k[1], n[1], z);
	const double was = share(k[0], n[0]), is = share(k[1], n[1]);

	return (struct interval){
		.least = is - was - hypot(is - after.least, before.most - was),
		.most = is - was + hypot(after.most - is, was - before.least),
	};
}

static double
odds(double probability, const double weight[2])
{
	return probability / (1 - probability) * weight[1] / weight[0];
}

struct interval
interval_ratio(const double k[2], const double weight[2], double z)
{
	const struct interval after = interval_share(k[1], k[0] + k[1], z);

	return (struct interval){
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

	while (x < marked && x < drawn && term >= sum * NEGLIGIBLE) {
		term *= (marked - x) * (drawn - x) / ((x + 1) * (all - marked - drawn + x + 1));
		sum += term;
		x += 1;
	}
	return sum;
}

double
interval_chance(const uint64_t k[2], const uint64_t n[2])
{
	const double all = (double)n[0] + (double)n[1], marked = (double)k[0] + (double)k[1];
	bool more; /* after than before */

	if (marked == 0 || n[0] == 0 || n[1] == 0)
		return 1;
	more = share((double)k[1], (double)n[1]) > share((double)k[0], (double)n[0]);
	return fmin(1, 2 * upper_tail(all, marked, (double)n[more], (double)k[more]));
}
