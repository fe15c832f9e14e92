/*
 * remedies.c - kernels with a known remedy, as they are and with it, for dcpiloc --try
 *
 * remedies KERNEL|KERNEL-remedied SIZE ROUNDS
 *
 * columns: a matrix is summed down its columns; the remedy is to interchange the loops. product: a matrix times a
 * matrix, which is too large for a cache; tiles. bodies: one member of structures; an array for it. recurrence: values
 * in a column, each by the one before, so that loops may not be interchanged; the matrix is kept transposed. planes:
 * three loops, of which the innermost goes from plane to plane; interchange.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define FORGET() __asm__ volatile("" : : : "memory")
#define TILE     32

struct far_body {
	double mass, x, y, z, vx, vy, vz, charge;
};

static size_t size = 100;

static void *
get(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory)
		exit(1);
	memset(memory, 0, bytes);
	return memory;
}

NOINLINE static double
columns(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < count; i++)
			sum += matrix[i * count + j];
	return sum;
}

NOINLINE static double
columns_remedied(size_t count, const double *matrix)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			sum += matrix[i * count + j];
	return sum;
}

NOINLINE static void
product(size_t count, double *restrict c, const double *a, const double *b)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			double sum = 0;

			for (size_t k = 0; k < count; k++)
				sum += a[i * count + k] * b[k * count + j];
			c[i * count + j] = sum;
		}
}

NOINLINE static void
product_remedied(size_t count, double *restrict c, const double *a, const double *b)
{
	memset(c, 0, count * count * sizeof(*c));
	for (size_t i0 = 0; i0 < count; i0 += TILE)
		for (size_t k0 = 0; k0 < count; k0 += TILE)
			for (size_t j0 = 0; j0 < count; j0 += TILE)
				for (size_t i = i0; i < i0 + TILE && i < count; i++)
					for (size_t k = k0; k < k0 + TILE && k < count; k++)
						for (size_t j = j0; j < j0 + TILE && j < count; j++)
							c[i * count + j] += a[i * count + k] * b[k * count + j];
}

NOINLINE static double
bodies(size_t count, const struct far_body *body)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += body[i].mass;
	return sum;
}

NOINLINE static double
bodies_remedied(size_t count, const double *mass)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += mass[i];
	return sum;
}

NOINLINE static void
recurrence(size_t count, double *restrict last, const double *matrix)
{
	for (size_t j = 0; j < count; j++) {
		double value = 1;

		for (size_t i = 0; i < count; i++)
			value = value * 0.5 + matrix[i * count + j];
		last[j] = value;
	}
}

NOINLINE static void
recurrence_remedied(size_t count, double *restrict last, const double *matrix)
{
	for (size_t j = 0; j < count; j++) {
		double value = 1;

		for (size_t i = 0; i < count; i++)
			value = value * 0.5 + matrix[j * count + i];
		last[j] = value;
	}
}

NOINLINE static void
planes(size_t count, double *restrict to, const double *from)
{
	for (size_t j = 0; j < count; j++)
		for (size_t k = 0; k < count; k++)
			for (size_t i = 0; i < count; i++)
				to[(i * count + j) * count + k] = from[(i * count + j) * count + k] * 2;
}

NOINLINE static void
planes_remedied(size_t count, double *restrict to, const double *from)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			for (size_t k = 0; k < count; k++)
				to[(i * count + j) * count + k] = from[(i * count + j) * count + k] * 2;
}

static double
run(const char *kernel, const double *a, const double *b, double *c)
{
	if (strcmp(kernel, "columns") == 0)
		return columns(size, a);
	if (strcmp(kernel, "columns-remedied") == 0)
		return columns_remedied(size, a);
	if (strcmp(kernel, "bodies") == 0)
		return bodies(size, (const struct far_body *)a);
	if (strcmp(kernel, "bodies-remedied") == 0)
		return bodies_remedied(size, a);
	if (strcmp(kernel, "product") == 0)
		product(size, c, a, b);
	else if (strcmp(kernel, "product-remedied") == 0)
		product_remedied(size, c, a, b);
	else if (strcmp(kernel, "recurrence") == 0)
		recurrence(size, c, a);
	else if (strcmp(kernel, "recurrence-remedied") == 0)
		recurrence_remedied(size, c, a);
	else if (strcmp(kernel, "planes") == 0)
		planes(size, c, a);
	else if (strcmp(kernel, "planes-remedied") == 0)
		planes_remedied(size, c, a);
	else
		exit(2);
	return c[size / 2];
}

int
main(int argc, char **argv)
{
	const char *kernel = argc > 3 ? argv[1] : "";
	const size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	size_t elements;
	double *a, *b, *c, sum = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: remedies KERNEL SIZE ROUNDS\n");
		return 2;
	}
	size = strtoul(argv[2], NULL, 10);
	elements = strncmp(kernel, "bodies", 6) == 0   ? 8 * size
	           : strncmp(kernel, "planes", 6) == 0 ? size * size * size
	                                               : size * size;
	a = get(elements * sizeof(*a));
	b = get(elements * sizeof(*b));
	c = get(elements * sizeof(*c));
	a[0] = 3;
	b[0] = 4;
	for (size_t i = 0; i < rounds; i++) {
		sum += run(kernel, a, b, c);
		FORGET();
	}
	printf("%g\n", sum);
	free(a);
	free(b);
	free(c);
	return 0;
}
