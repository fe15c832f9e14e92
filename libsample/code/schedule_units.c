#include <stdlib.h>

#include "code/schedule_parts.h"

#define SETS_MAX 12 /* of a component; a CPU's model has some six */

void
unit_demands_add(struct unit_demands *demands, const struct work *work)
{
	for (unsigned k = 0; k < work->use_count; k++) {
		const struct pipeline_use *use = &work->uses[k];
		size_t at = 0;

		while (at < demands->count && demands->of[at].units != use->units)
			at++;
		if (at == UNIT_DEMANDS_MAX)
			continue; /* a lower bound may leave work out */
		if (at == demands->count)
			demands->of[demands->count++] = (struct unit_demand){.units = use->units};
		demands->of[at].cycles += use->cycles;
	}
}

/* Demands that have units in common with the first, directly or by others, to the front: how many. */
static size_t
split_component(struct unit_demand *demands, size_t count)
{
	uint32_t units = demands[0].units;
	size_t size = 1;

	for (size_t i = size; i < count; i++) {
		if (demands[i].units & units) {
			struct unit_demand found = demands[i];

			demands[i] = demands[size];
			demands[size++] = found;
			units |= found.units;
			i = size - 1;
		}
	}
	return size;
}

static void
try_units(const struct unit_demand *demands, size_t count, uint32_t units, double *bound, uint32_t *full)
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

static uint32_t
units_of(const struct unit_demand *demands, uint32_t set)
{
	uint32_t units = 0;

	for (; set; set &= set - 1)
		units |= demands[__builtin_ctz(set)].units;
	return units;
}

double
unit_demands_bound(struct unit_demands *demands, uint32_t *full)
{
	double bound = 0;

	*full = 0;
	for (size_t start = 0; start < demands->count;) {
		struct unit_demand *component = demands->of + start;
		const size_t size = split_component(component, demands->count - start);
		const size_t joined = size < SETS_MAX ? size : SETS_MAX;

		for (uint32_t set = 1; set < UINT32_C(1) << joined; set++)
			try_units(component, size, units_of(component, set), &bound, full);
		start += size;
	}
	return bound;
}
