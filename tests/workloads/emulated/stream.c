/*
 * stream - how many bytes a second go between memory and OMP_NUM_THREADS cores: McCalpin's four loops
 *
 * stream ELEMENTS REPETITIONS [time]: three arrays of so many doubles. The rates, of the best repetition, are of what
 * is moved: a line that is written is read before, which STREAM itself does not count.
 */
#include "emulated.h"

#define LOOPS 4

void copy(const double *a, double *c, size_t count);
void scale(const double *c, double *b, size_t count);
void add(const double *a, const double *b, double *c, size_t count);
void triad(const double *b, const double *c, double *a, size_t count);

__attribute__((noinline)) void
copy(const double *a, double *c, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		c[i] = a[i] + 0.0; /* as it is, gcc would call memmove() */
}

__attribute__((noinline)) void
scale(const double *c, double *b, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		b[i] = 3.0 * c[i];
}

__attribute__((noinline)) void
add(const double *a, const double *b, double *c, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		c[i] = a[i] + b[i];
}

__attribute__((noinline)) void
triad(const double *b, const double *c, double *a, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] + 3.0 * c[i];
}

static void
first_touch(double *a, double *b, double *c, size_t count)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < count; i++) {
		a[i] = 1;
		b[i] = 2;
		c[i] = 0;
	}
}

int
main(int argc, char **argv)
{
	static const char *const names[LOOPS] = {"copy", "scale", "add", "triad"};
	static const unsigned arrays_moved[LOOPS] = {3, 3, 4, 4};
	const bool timed = asked_for_time(&argc, argv);
	const size_t count = argument(argc, argv, 1, 1000000), repetitions = argument(argc, argv, 2, 2);
	double *a = get_memory(count * sizeof(*a)), *b = get_memory(count * sizeof(*b)),
	       *c = get_memory(count * sizeof(*c));
	double best_s[LOOPS] = {0};

	first_touch(a, b, c, count);
	for (size_t i = 0; i < repetitions; i++) {
		double at[LOOPS + 1];

		at[0] = now_s();
		copy(a, c, count);
		at[1] = now_s();
		scale(c, b, count);
		at[2] = now_s();
		add(a, b, c, count);
		at[3] = now_s();
		triad(b, c, a, count);
		at[4] = now_s();
		for (size_t loop = 0; loop < LOOPS; loop++)
			if (best_s[loop] == 0 || at[loop + 1] - at[loop] < best_s[loop])
				best_s[loop] = at[loop + 1] - at[loop];
	}
	printf("%g %g %g\n", a[0], b[count / 2], c[count - 1]);
	for (size_t loop = 0; timed && loop < LOOPS; loop++)
		fprintf(stderr, "%s %.4f GB/s\n", names[loop],
		        arrays_moved[loop] * (double)(count * sizeof(double)) / best_s[loop] * 1e-9);
	return 0;
}
