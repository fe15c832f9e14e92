/*
 * kernel_mix - four loops that go through memory in ways that caches do not like
 *
 * kernel_mix [ROUNDS]: additions at random places, a sparse matrix times a vector, a matrix by columns, a linked list.
 */
#include "emulated.h"

#define PLACES     ((size_t)1 << 20) /* of 8 bytes */
#define ROWS       ((size_t)1 << 16)
#define ROW_VALUES 8
#define COLUMNS    1024

struct chased_node {
	struct chased_node *next;
	uint64_t value, others[6];
};

void update_randomly(uint64_t *table);
double multiply_sparsely(const double *values, const uint32_t *columns, const double *vector);
uint64_t walk_columns(const uint64_t *matrix);
uint64_t walk_list(const struct chased_node *node);

__attribute__((noinline)) void
update_randomly(uint64_t *table)
{
	uint64_t random = 88172645463325252;

	for (size_t i = 0; i < 4 * PLACES; i++) {
		next_random(&random);
		table[random & (PLACES - 1)] += random;
	}
}

__attribute__((noinline)) double
multiply_sparsely(const double *values, const uint32_t *columns, const double *vector)
{
	double all = 0;

	for (size_t row = 0; row < ROWS; row++) {
		double sum = 0;

		for (size_t i = row * ROW_VALUES; i < (row + 1) * ROW_VALUES; i++)
			sum += values[i] * vector[columns[i]];
		all += sum;
	}
	return all;
}

__attribute__((noinline)) uint64_t
walk_columns(const uint64_t *matrix)
{
	uint64_t sum = 0;

	for (size_t column = 0; column < COLUMNS; column++)
		for (size_t row = 0; row < PLACES / COLUMNS; row++)
			sum = sum * 3 + matrix[row * COLUMNS + column];
	return sum;
}

__attribute__((noinline)) uint64_t
walk_list(const struct chased_node *node)
{
	uint64_t sum = 0;

	for (; node; node = node->next)
		sum += node->value;
	return sum;
}

/* Nodes in an order that memory does not have them in: PLACES / 8 is a power of two, 40503 is odd. */
static struct chased_node *
list_make(void)
{
	const size_t count = PLACES / 8;
	struct chased_node *nodes = get_memory(count * sizeof(*nodes));

	for (size_t i = 0; i < count; i++) {
		nodes[i * 40503 & (count - 1)].next = i + 1 < count ? &nodes[(i + 1) * 40503 & (count - 1)] : NULL;
		nodes[i].value = i;
	}
	return nodes;
}

int
main(int argc, char **argv)
{
	const size_t rounds = argument(argc, argv, 1, 1);
	uint64_t *table = get_memory(PLACES * sizeof(*table)), sum = 0, random = 1;
	double *values = get_memory(ROWS * ROW_VALUES * sizeof(*values)), *vector = get_memory(ROWS * sizeof(*vector)),
	       all = 0;
	uint32_t *columns = get_memory(ROWS * ROW_VALUES * sizeof(*columns));
	struct chased_node *list = list_make();

	for (size_t i = 0; i < ROWS * ROW_VALUES; i++) {
		values[i] = (double)(i & 15);
		vector[i % ROWS] = 1;
		columns[i] = (uint32_t)(next_random(&random) % ROWS);
	}
	for (size_t i = 0; i < rounds; i++) {
		update_randomly(table);
		for (int again = 0; again < 4; again++)
			all += multiply_sparsely(values, columns, vector);
		sum += walk_columns(table);
		for (int again = 0; again < 4; again++)
			sum += walk_list(list);
	}
	printf("%llu %.0f\n", (unsigned long long)sum, all);
	return 0;
}
