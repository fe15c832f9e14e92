/*
 * orders.c - kernels down the columns of a matrix, whose results another order of their loops changes, or does not
 *
 * orders KERNEL SIZE
 *
 * last_negative: the last element that is negative. begin_anew: a sum that begins again. twice: a sum that is added to
 * itself. sum_of_sums: a sum of what another one was. squares_of_sums, products: of complete sums or products.
 * copied, atomic: what memcpy and an atomic store write. read_before_sum: what is read in a column is overwritten with
 * the column's sum; read_before_all: where the compiler knows that it is read once. sum_of_all, sum_of_some,
 * sum_by_columns: sums in any order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static double
last_negative(size_t count, const double *matrix)
{
	size_t last = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			if (matrix[i * count + j] < 0)
				last = i * count + j;
	return (double)last;
}

NOINLINE static double
begin_anew(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++) {
			if (matrix[i * count + j] < 0)
				sum = 0;
			else
				sum += matrix[i * count + j];
		}
	return sum;
}

NOINLINE static double
twice(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			sum = sum + (sum + matrix[i * count + j]);
	return sum;
}

NOINLINE static double
sum_of_sums(size_t count, const double *matrix)
{
	double sum = 0, sums = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++) {
			sum += matrix[i * count + j];
			sums += sum;
		}
	return sums;
}

NOINLINE static double
squares_of_sums(size_t count, const double *matrix)
{
	double squares = 0;

	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += matrix[i * count + j];
		squares += sum * sum;
	}
	return squares;
}

NOINLINE static double
products(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++) {
		double product = 1;

		for (size_t i = 0; i < count; i++)
			product *= matrix[i * count + j];
		sum += product;
	}
	return sum;
}

/* All may be one array, as far as the compiler knows: what is read stays in the loop. */
NOINLINE static void
read_before_all(size_t count, const double *restrict matrix, double *restrict to, double *restrict column)
{
	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++) {
			to[i * count + j] = matrix[i * count + j] * column[j];
			sum += matrix[i * count + j];
		}
		column[j] = sum;
	}
}

NOINLINE static void
read_before_sum(size_t count, const double *matrix, double *to, double *column)
{
	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++) {
			to[i * count + j] = matrix[i * count + j] * column[j];
			sum += matrix[i * count + j];
		}
		column[j] = sum;
	}
}

NOINLINE static void
copied(size_t count, double *matrix, double *restrict to)
{
	for (size_t j = 0; j + 2 < count; j++)
		for (size_t i = 1; i < count; i++) {
			memcpy(&matrix[i * count + j], &matrix[(i - 1) * count + j + 1], 3 * sizeof(*matrix));
			to[i * count + j] *= 2;
		}
}

NOINLINE static void
atomic(size_t count, size_t *last, double *restrict to)
{
	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++) {
			__atomic_store_n(last, i * count + j, __ATOMIC_RELAXED);
			to[i * count + j] *= 2;
		}
}

NOINLINE static double
sum_of_all(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			sum += matrix[i * count + j];
	return sum;
}

NOINLINE static double
sum_of_some(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			if (matrix[i * count + j] > 0)
				sum += matrix[i * count + j];
	return sum;
}

NOINLINE static void
sum_by_columns(size_t count, const double *matrix, double *restrict column)
{
	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += matrix[i * count + j];
		column[j] = sum;
	}
}

struct ordered_kernel {
	const char *name;
	double (*sum)(size_t count, const double *matrix);
};

static const struct ordered_kernel kernels[] = {
	{"last_negative", last_negative}, {"begin_anew", begin_anew},           {"twice", twice},
	{"sum_of_sums", sum_of_sums},     {"squares_of_sums", squares_of_sums}, {"products", products},
	{"sum_of_all", sum_of_all},       {"sum_of_some", sum_of_some},
};

int
main(int argc, char **argv)
{
	const size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double *matrix = calloc(size * size, sizeof(*matrix)), *to = calloc(size * size, sizeof(*to)),
	       *column = calloc(size + 1, sizeof(*column));
	double result = 0;
	size_t last = 0;

	if (!size || !matrix || !to || !column) {
		fprintf(stderr, "usage: orders KERNEL SIZE\n");
		return 2;
	}
	matrix[size + 1] = -1;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (strcmp(argv[1], kernels[i].name) == 0)
			result = kernels[i].sum(size, matrix);
	if (strcmp(argv[1], "read_before_sum") == 0)
		read_before_sum(size, matrix, to, column);
	if (strcmp(argv[1], "read_before_all") == 0)
		read_before_all(size, matrix, to, column);
	if (strcmp(argv[1], "copied") == 0)
		copied(size, matrix, to);
	if (strcmp(argv[1], "atomic") == 0)
		atomic(size, &last, to);
	if (strcmp(argv[1], "sum_by_columns") == 0)
		sum_by_columns(size, matrix, column);
	printf("%g %g %zu\n", result, column[0] + to[0], last);
	free(matrix);
	free(to);
	free(column);
	return 0;
}
