/* heat.c - see heat.h */
#include "heat.h"

#define CELLS  4096
#define ROUNDS 12

double
heat_relax(void)
{
	static double cells[CELLS];

	cells[0] = 100;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 1; i < CELLS - 1; i++)
			cells[i] = (cells[i - 1] + cells[i] + cells[i + 1]) / 3;
	}
	return cells[CELLS / 2];
}

uint64_t
heat_hash(void)
{
	uint64_t hash = 14695981039346656037U;

	for (uint32_t i = 0; i < CELLS * ROUNDS; i++)
		hash = (hash ^ i) * 1099511628211U;
	return hash;
}
