/*
 * twelve.c - kernels whose locality is estimated and traced exactly, for dcpiloc --exact
 *
 * twelve NAME [ROUNDS]
 *
 * dense: a matrix times a matrix. sparse: a matrix in compressed rows times a vector. stencil: five points of a grid.
 * fft: of complex numbers, radix 2. join: rows of one table that are in another, by a hash. list: a list whose nodes
 * are in no order. tree: searches in a binary tree. sort: by Shell's method. convolution: of an image with 5 x 5.
 * transpose: of a matrix. histogram: of an image's rows. The twelfth is triangular.f90.
 *
 * What the kernel refers to is filled by loops of this file. Prints a number that depends on all results.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
/* Memory may be another now: what a function returned before is not what it returns again. */
#define FORGET() __asm__ volatile("" : : : "memory")

static size_t rounds;
static uint64_t seed = 1;

static size_t
times(size_t otherwise)
{
	return rounds ? rounds : otherwise;
}

static uint32_t
next_random(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33);
}

static double
sum_of(const double *numbers, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += numbers[i];
	return sum;
}

/* ---- dense ---- */

#define DENSE 96

static double dense_a[DENSE][DENSE], dense_b[DENSE][DENSE], dense_c[DENSE][DENSE];

NOINLINE static void
multiply_dense(void)
{
	for (size_t i = 0; i < DENSE; i++)
		for (size_t j = 0; j < DENSE; j++) {
			double sum = 0;

			for (size_t k = 0; k < DENSE; k++)
				sum += dense_a[i][k] * dense_b[k][j];
			dense_c[i][j] = sum;
		}
}

static double
run_dense(void)
{
	for (size_t i = 0; i < DENSE; i++)
		for (size_t j = 0; j < DENSE; j++) {
			dense_a[i][j] = (double)(i + j);
			dense_b[i][j] = (double)(i - j);
		}
	for (size_t i = 0; i < times(1); i++)
		multiply_dense();
	return sum_of(dense_c[0], (size_t)DENSE * DENSE);
}

/* ---- sparse ---- */

#define ROWS 4000
#define NEAR 11

static int sparse_rows[ROWS + 1], sparse_columns[ROWS * NEAR];
static double sparse_values[ROWS * NEAR], sparse_x[ROWS], sparse_y[ROWS];

NOINLINE static void
multiply_sparse(void)
{
	for (size_t j = 0; j < ROWS; j++) {
		double sum = 0;

		for (int k = sparse_rows[j]; k < sparse_rows[j + 1]; k++)
			sum += sparse_values[k] * sparse_x[sparse_columns[k]];
		sparse_y[j] = sum;
	}
}

static double
run_sparse(void)
{
	for (size_t i = 0; i <= ROWS; i++)
		sparse_rows[i] = (int)i * NEAR;
	for (size_t i = 0; i < (size_t)ROWS * NEAR; i++) {
		sparse_columns[i] = (int)(next_random() % ROWS);
		sparse_values[i] = 1;
	}
	for (size_t i = 0; i < ROWS; i++)
		sparse_x[i] = (double)i;
	for (size_t i = 0; i < times(4); i++)
		multiply_sparse();
	return sum_of(sparse_y, ROWS);
}

/* ---- stencil ---- */

#define GRID 200

static double grid_from[GRID][GRID], grid_to[GRID][GRID];

NOINLINE static void
relax(double (*to)[GRID], double (*from)[GRID])
{
	for (size_t i = 1; i + 1 < GRID; i++)
		for (size_t j = 1; j + 1 < GRID; j++)
			to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) * 0.2 +
			           from[i][j] * 0.2;
}

static double
run_stencil(void)
{
	for (size_t i = 0; i < GRID; i++)
		for (size_t j = 0; j < GRID; j++)
			grid_from[i][j] = grid_to[i][j] = (double)(i * j);
	for (size_t i = 0; i < times(4); i++) {
		relax(grid_to, grid_from);
		relax(grid_from, grid_to);
	}
	return sum_of(grid_from[0], (size_t)GRID * GRID);
}

/* ---- fft ---- */

#define POINTS 4096

static struct fft_point {
	double re, im;
} points[POINTS], roots[POINTS / 2];

NOINLINE static void
transform(void)
{
	for (size_t half = 1, step = POINTS / 2; half < POINTS; half *= 2, step /= 2)
		for (size_t first = 0; first < POINTS; first += 2 * half)
			for (size_t i = 0; i < half; i++) {
				struct fft_point *a = &points[first + i], *b = &points[first + i + half];
				const struct fft_point *root = &roots[i * step];
				const double re = b->re * root->re - b->im * root->im;
				const double im = b->re * root->im + b->im * root->re;

				b->re = a->re - re;
				b->im = a->im - im;
				a->re += re;
				a->im += im;
			}
}

static double
run_fft(void)
{
	double sum = 0;

	for (size_t i = 0; i < POINTS; i++) {
		points[i].re = (double)(next_random() % 1000) / 1000;
		points[i].im = 0;
	}
	for (size_t i = 0; i < POINTS / 2; i++) {
		roots[i].re = cos(-2 * 3.14159265358979 * (double)i / POINTS);
		roots[i].im = sin(-2 * 3.14159265358979 * (double)i / POINTS);
	}
	for (size_t i = 0; i < times(2); i++)
		transform();
	for (size_t i = 0; i < POINTS; i++)
		sum += points[i].re;
	return sum;
}

/* ---- join ---- */

#define BUILT   4096
#define BUCKETS 4096
#ifndef PROBED
#define PROBED 12000
#endif

static struct tuple {
	struct tuple *next;
	uint64_t key, value;
} built[BUILT], *buckets[BUCKETS];
static uint64_t probed[PROBED];

static size_t
bucket_of(uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 52);
}

NOINLINE static void
build_table(void)
{
	for (size_t i = 0; i < BUILT; i++) {
		const size_t at = bucket_of(built[i].key);

		built[i].next = buckets[at];
		buckets[at] = &built[i];
	}
}

NOINLINE static uint64_t
probe_table(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PROBED; i++)
		for (const struct tuple *at = buckets[bucket_of(probed[i])]; at; at = at->next)
			if (at->key == probed[i])
				sum += at->value;
	return sum;
}

static double
run_join(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		buckets[i] = NULL;
	for (size_t i = 0; i < BUILT; i++) {
		built[i].key = next_random();
		built[i].value = i;
	}
	for (size_t i = 0; i < PROBED; i++)
		probed[i] = i % 3 ? built[next_random() % BUILT].key : next_random();
	build_table();
	for (size_t i = 0; i < times(2); i++) {
		sum += probe_table();
		FORGET();
	}
	return (double)sum;
}

/* ---- list ---- */

#define NODES 8192

static struct shuffled_node {
	struct shuffled_node *next;
	uint64_t value, others[6];
} nodes[NODES];
static uint32_t order[NODES];

NOINLINE static uint64_t
follow(const struct shuffled_node *at)
{
	uint64_t sum = 0;

	for (; at; at = at->next)
		sum += at->value;
	return sum;
}

static void
shuffle(void)
{
	for (uint32_t i = 0; i < NODES; i++)
		order[i] = i;
	for (uint32_t i = NODES - 1; i > 0; i--) {
		const uint32_t other = next_random() % (i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static double
run_list(void)
{
	uint64_t sum = 0;

	shuffle();
	for (size_t i = 0; i < NODES; i++) {
		nodes[order[i]].value = i;
		nodes[order[i]].next = i + 1 < NODES ? &nodes[order[i + 1]] : NULL;
	}
	for (size_t i = 0; i < times(8); i++) {
		sum += follow(&nodes[order[0]]);
		FORGET();
	}
	return (double)sum;
}

/* ---- tree ---- */

#define SEARCHES 5000

static struct tree_branch {
	struct tree_branch *children[2];
	uint64_t key, value;
} branches[NODES];

NOINLINE static void
insert(struct tree_branch **root, struct tree_branch *added)
{
	while (*root)
		root = &(*root)->children[added->key > (*root)->key];
	*root = added;
}

NOINLINE static uint64_t
search(const struct tree_branch *at, uint64_t key)
{
	while (at && at->key != key)
		at = at->children[key > at->key];
	return at ? at->value : 0;
}

static double
run_tree(void)
{
	struct tree_branch *root = NULL;
	uint64_t sum = 0;

	shuffle();
	for (size_t i = 0; i < NODES / 4; i++) {
		branches[i].key = order[i];
		branches[i].value = i;
		insert(&root, &branches[i]);
	}
	for (size_t i = 0; i < times(1) * SEARCHES; i++)
		sum += search(root, order[next_random() % (NODES / 4)]);
	return (double)sum;
}

/* ---- sort ---- */

#define SORTED 2048

static double sorted[SORTED];

NOINLINE static void
sort(void)
{
	for (size_t gap = SORTED / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap - 1)
		for (size_t i = gap; i < SORTED; i++) {
			const double value = sorted[i];
			size_t at = i;

			for (; at >= gap && sorted[at - gap] > value; at -= gap)
				sorted[at] = sorted[at - gap];
			sorted[at] = value;
		}
}

static double
run_sort(void)
{
	for (size_t round = 0; round < times(1); round++) {
		for (size_t i = 0; i < SORTED; i++)
			sorted[i] = next_random();
		sort();
	}
	return sorted[SORTED / 2];
}

/* ---- convolution ---- */

#define IMAGE  160
#define WEIGHT 5

static float image_from[IMAGE][IMAGE], image_to[IMAGE][IMAGE], weights[WEIGHT][WEIGHT];

NOINLINE static void
convolve(size_t size)
{
	for (size_t y = 0; y + size <= IMAGE; y++)
		for (size_t x = 0; x + size <= IMAGE; x++) {
			float sum = 0;

			for (size_t i = 0; i < size; i++)
				for (size_t k = 0; k < size; k++)
					sum += image_from[y + i][x + k] * weights[i][k];
			image_to[y][x] = sum;
		}
}

static double
run_convolution(void)
{
	float sum = 0;

	for (size_t y = 0; y < IMAGE; y++)
		for (size_t x = 0; x < IMAGE; x++)
			image_from[y][x] = (float)(next_random() % 256);
	for (size_t i = 0; i < WEIGHT; i++)
		for (size_t k = 0; k < WEIGHT; k++)
			weights[i][k] = (float)(i + k) / 100;
	for (size_t i = 0; i < times(1); i++)
		convolve(WEIGHT);
	for (size_t y = 0; y < IMAGE; y++)
		sum += image_to[y][y];
	return sum;
}

/* ---- transpose ---- */

#define SIDE 512

static double matrix_from[SIDE][SIDE], matrix_to[SIDE][SIDE];
static volatile size_t side = SIDE; /* known when it runs, as in most programs */

NOINLINE static void
transpose(size_t size)
{
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j++)
			matrix_to[j][i] = matrix_from[i][j];
}

static double
run_transpose(void)
{
	for (size_t i = 0; i < SIDE; i++)
		for (size_t j = 0; j < SIDE; j++)
			matrix_from[i][j] = (double)(i * 3 + j);
	for (size_t i = 0; i < times(2); i++)
		transpose(side);
	return matrix_to[3][5] + sum_of(matrix_to[7], SIDE);
}

/* ---- histogram ---- */

#define BINS 4096
#define WIDE 512
#define HIGH 256

static uint16_t pixels[HIGH][WIDE];
static uint32_t bins[BINS];

NOINLINE static void
count_pixels(void)
{
	for (size_t y = 0; y < HIGH; y++)
		for (size_t x = 0; x < WIDE; x++)
			bins[pixels[y][x]]++;
}

static double
run_histogram(void)
{
	const size_t some = BINS / 2, others = BINS / 3;

	for (size_t y = 0; y < HIGH; y++)
		for (size_t x = 0; x < WIDE; x++)
			pixels[y][x] = (uint16_t)((next_random() % BINS + next_random() % BINS) / 2);
	for (size_t i = 0; i < times(2); i++)
		count_pixels();
	return bins[some] + 3.0 * bins[others];
}

static const struct {
	const char *name;
	double (*run)(void);
} kernels[] = {
	{"dense", run_dense},
	{"sparse", run_sparse},
	{"stencil", run_stencil},
	{"fft", run_fft},
	{"join", run_join},
	{"list", run_list},
	{"tree", run_tree},
	{"sort", run_sort},
	{"convolution", run_convolution},
	{"transpose", run_transpose},
	{"histogram", run_histogram},
};

int
main(int argc, char **argv)
{
	rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	for (size_t i = 0; argc > 1 && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (strcmp(argv[1], kernels[i].name) != 0)
			continue;
		printf("%.6g\n", kernels[i].run());
		return 0;
	}
	fprintf(stderr, "usage: twelve NAME [ROUNDS]\n");
	return 2;
}
