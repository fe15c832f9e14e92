/*
 * article.c - the two kernels in C of Diniz and Krishna, "A Compiler-guided Instrumentation for Application Behavior
 * Understanding" (CTWatch Quarterly, 2006), table 1; the third one is cgm.f90
 *
 * article streamadd [LENGTH]: c = a + b. article randomaccess [UPDATES]: HPC Challenge's RandomAccess, places of a
 * table of 2^19 words at random.
 *
 * Prints a number that depends on all results.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE   __attribute__((noinline))
#define POLYNOMIAL 7 /* x^63 + x^2 + x + 1 without its first: the benchmark's sequence is of its remainders */
/* From 1 on, words of the sequence have few bits for long, and are not random yet. The benchmark begins far behind. */
#define SEED UINT64_C(0x0123456789abcdef)

static uint64_t table_size = (uint64_t)1 << 19; /* words: in memory, as the benchmark has it */

void streamadd(double *c, const double *a, const double *b, int length);
void randomaccess(uint64_t *table, int updates);
void change_table_size(uint64_t size);

NOINLINE void
streamadd(double *c, const double *a, const double *b, int length)
{
	for (int i = 0; i < length; i++)
		c[i] = a[i] + b[i];
}

NOINLINE void
randomaccess(uint64_t *table, int updates)
{
	uint64_t random = SEED;

	for (int i = 0; i < updates; i++) {
		random = random << 1 ^ ((int64_t)random < 0 ? POLYNOMIAL : 0);
		const uint64_t place = random & (table_size - 1);

		table[place] ^= random;
	}
}

/* Another file could call it: what the compiler sees is no constant. */
void
change_table_size(uint64_t size)
{
	table_size = size;
}

static void *
get(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		exit(1);
	return memory;
}

static uint64_t
run_streamadd(int length)
{
	const size_t bytes = (size_t)length * sizeof(double);
	double *a = get(bytes), *b = get(bytes), *c = get(bytes);
	uint64_t last;

	a[length - 1] = 3;
	b[length - 1] = 4;
	streamadd(c, a, b, length);
	last = (uint64_t)c[length - 1];
	free(a);
	free(b);
	free(c);
	return last;
}

static uint64_t
run_randomaccess(int updates)
{
	uint64_t *table = get(table_size * sizeof(*table)), hash = 0;

	randomaccess(table, updates);
	hash = table[1] ^ table[77] ^ table[table_size - 1];
	free(table);
	return hash;
}

int
main(int argc, char **argv)
{
	const int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;

	if (argc < 2 || count < 1) {
		fprintf(stderr, "usage: article streamadd|randomaccess [COUNT]\n");
		return 2;
	}
	printf("%" PRIu64 "\n", strcmp(argv[1], "streamadd") == 0 ? run_streamadd(count) : run_randomaccess(count));
	return 0;
}
