/*
 * matvec - a matrix times a vector, row by row, without tiling
 *
 * matvec N [REPETITIONS] [time]: N x N doubles, with OMP_NUM_THREADS threads, each of which first touches its own rows.
 */
#include "emulated.h"

#define PAGE_BYTES 4096

void matrix_fill(double *matrix, double *vector, size_t size);
void matvec(const double *matrix, const double *vector, double *result, size_t size);

/*
 * A value in each page: what is measured is the product, and zeros take as long. They are rounded: until a thread has
 * rounded once QEMU adds in software for it, as it must find out when that happens, and threads are to be alike.
 */
__attribute__((noinline)) void
matrix_fill(double *matrix, double *vector, size_t size)
{
	for (size_t i = 0; i < size; i++)
		vector[i] = (double)(i % 7);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j += PAGE_BYTES / sizeof(*matrix))
			matrix[i * size + j] = (double)(i + j) / 3;
}

__attribute__((noinline)) void
matvec(const double *matrix, const double *vector, double *result, size_t size)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < size; i++) {
		const double *row = matrix + i * size;
		double sum = 0;

		for (size_t j = 0; j < size; j++)
			sum += row[j] * vector[j];
		result[i] += sum;
	}
}

int
main(int argc, char **argv)
{
	const bool timed = asked_for_time(&argc, argv);
	const size_t size = argument(argc, argv, 1, 1024), repetitions = argument(argc, argv, 2, 1);
	double *matrix = get_memory(size * size * sizeof(*matrix)), *vector = get_memory(size * sizeof(*vector)),
	       *result = get_memory(size * sizeof(*result));
	double begin, seconds, sum = 0;

	matrix_fill(matrix, vector, size);
	begin = now_s();
	for (size_t i = 0; i < repetitions; i++)
		matvec(matrix, vector, result, size);
	seconds = now_s() - begin;
	for (size_t i = 0; i < size; i++)
		sum += result[i];
	printf("%.0f\n", sum);
	if (timed)
		fprintf(stderr, "%.9f s, %.3f GB/s\n", seconds,
		        (double)(size * size * sizeof(*matrix) * repetitions) / seconds * 1e-9);
	return 0;
}
