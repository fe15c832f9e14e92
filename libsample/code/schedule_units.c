#include <stdlib.h>

#include "code/schedule_parts.h"

#define SETS_MAX 12 /* of a component; a CPU's model has some six */

/* The work that only these units can do. */
struct demand {
	uint32_t units;
	double cycles;
};

static size_t
collect(const struct work *works, size_t count, struct demand *demands, size_t capacity)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < works[i].use_count; k++) {
			const struct pipeline_use *use = &works[i].uses[k];
			size_t at = 0;

			while (at < known && demands[at].units != use->units)
				at++;
			if (at == capacity)
				continue; /* a lower bound may leave work out */
			if (at == known)
				demands[known++] = (struct demand){.units = use->units};
			demands[at].cycles += use->cycles;
		}
	}
	return known;
}

/* Demands that have units in common with the first, directly or by others, to the front: how many. */
static size_t
split_component(struct demand *demands, size_t count)
{
	uint32_t units = demands[0].units;
	size_t size = 1;

	for (size_t i = size; i < count; i++) {
		if (demands[i].units & units) {
			struct demand found = demands[i];

			demands[i] = demands[size];
			demands[size++] = found;
			units |= found.units;
			i = size - 1;
		}
	}
	return size;
}

static void
try_units(const struct demand *demands, size_t count, uint32_t units, double *bound, uint32_t *full)
{
	double cycles = 0;

	for (size_t i = 0; i < count; i++)
		if (!(demands[i].units & ~units))
			cycles += demands[i].cycles;
	cycles /= __builtin_popcount(units);
	if (cycles > *bound) {
		*bound = cycles;
		*full = units;
	}
}

double
schedule_unit_bound(const struct work *works, size_t count, uint32_t *full)
{
	struct demand demands[PIPELINE_UNITS_MAX * 2];
	size_t known = collect(works, count, demands, sizeof(demands) / sizeof(demands[0]));
	double bound = 0;

	*full = 0;
	for (size_t start = 0; start < known;) {
		size_t size = split_component(demands + start, known - start);
		size_t joined = size < SETS_MAX ? size : SETS_MAX;

		for (uint32_t set = 1; set < UINT32_C(1) << joined; set++) {
			uint32_t units = 0;

			for (size_t i = 0; i < joined; i++)
				if (set >> i & 1)
					units |= demands[start + i].units;
			try_units(demands + start, size, units, &bound, full);
		}
		start += size;
	}
	return bound;
}
