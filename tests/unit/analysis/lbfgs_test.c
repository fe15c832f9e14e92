#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>

#include "analysis/lbfgs.h"

/* Rosenbrock's valley: 0 at (1, 1), and nowhere else is it flat. */
static double
valley(void *argument, const double *x, double *gradient)
{
	const double across = x[1] - x[0] * x[0], along = 1 - x[0];

	(void)argument;
	gradient[0] = -400 * x[0] * across - 2 * along;
	gradient[1] = 200 * across;
	return 100 * across * across + along * along;
}

static void
it_goes_round_the_bend_to_the_lowest_place(void **state)
{
	const struct lbfgs_problem problem = {
		.function = valley, .count = 2, .evaluations_max = 300, .tolerance = 1e-14};
	double x[] = {-1.2, 1};
	unsigned evaluations;

	(void)state;
	assert_int_equal(lbfgs_minimize(&problem, x, &evaluations), 0);
	assert_true(fabs(x[0] - 1) < 1e-5);
	assert_true(fabs(x[1] - 1) < 1e-5);
	assert_true(evaluations < 100);
}

/* (x - 1)^2 + (x - 2)^2 * 10 + ... of many variables: each its own. */
static double
bowl(void *argument, const double *x, double *gradient)
{
	double sum = 0;

	for (size_t i = 0; i < *(const size_t *)argument; i++) {
		const double off = x[i] - (double)i, weight = 1 + (double)(i % 17) * 100;

		gradient[i] = 2 * weight * off;
		sum += weight * off * off;
	}
	return sum;
}

static void
many_variables_of_unlike_steepness_settle(void **state)
{
	enum { COUNT = 500 };
	size_t count = COUNT;
	const struct lbfgs_problem problem = {bowl, &count, COUNT, 500, 1e-12};
	double x[COUNT] = {0};

	(void)state;
	assert_int_equal(lbfgs_minimize(&problem, x, NULL), 0);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(fabs(x[i] - (double)i) < 1e-2);
}

static void
it_ends_when_it_was_asked_often_enough(void **state)
{
	const struct lbfgs_problem problem = {.function = valley, .count = 2, .evaluations_max = 7, .tolerance = 0};
	double x[] = {-1.2, 1}, gradient[2];
	unsigned evaluations;

	(void)state;
	assert_int_equal(lbfgs_minimize(&problem, x, &evaluations), 0);
	assert_int_equal(evaluations, 7);
	assert_true(valley(NULL, x, gradient) < 24.2); /* where it began */
}

static double
nowhere(void *argument, const double *x, double *gradient)
{
	(void)argument;
	gradient[0] = 0;
	return x[0] * (double)NAN;
}

static void
what_is_no_number_is_refused(void **state)
{
	const struct lbfgs_problem problem = {.function = nowhere, .count = 1, .evaluations_max = 10};
	double x[] = {1};

	(void)state;
	assert_int_equal(lbfgs_minimize(&problem, x, NULL), -EINVAL);
}

/* Downhill it has no end: the gradient there is no number. */
static double
edge(void *argument, const double *x, double *gradient)
{
	(void)argument;
	gradient[0] = x[0] > 1.5 ? (double)NAN : -1;
	return -x[0];
}

static void
a_gradient_that_is_no_number_ends_it(void **state)
{
	const struct lbfgs_problem problem = {.function = edge, .count = 1, .evaluations_max = 50, .tolerance = 1e-9};
	double x[] = {1};
	unsigned evaluations;

	(void)state;
	lbfgs_minimize(&problem, x, &evaluations);
	assert_in_range(evaluations, 1, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_goes_round_the_bend_to_the_lowest_place),
		cmocka_unit_test(many_variables_of_unlike_steepness_settle),
		cmocka_unit_test(it_ends_when_it_was_asked_often_enough),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(a_gradient_that_is_no_number_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
