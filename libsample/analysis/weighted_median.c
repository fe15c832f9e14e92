#include "analysis/weighted_median.h"

#include <stdlib.h>

static int
compare_values(const void *a, const void *b)
{
	const struct weighted *one = a, *other = b;

	return (one->value > other->value) - (one->value < other->value);
}

double
weighted_median(struct weighted *list, size_t count)
{
	double half = 0, sum = 0;

	if (count == 0)
		return 0;
	qsort(list, count, sizeof(*list), compare_values);
	for (size_t i = 0; i < count; i++)
		half += list[i].weight / 2;
	for (size_t i = 0; i < count; i++) {
		sum += list[i].weight;
		if (sum > 0 && sum >= half)
			return list[i].value;
	}
	return 0;
}
