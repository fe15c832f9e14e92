#include "dcpi-tools/emu/sweep.h"

#include <stdlib.h>

static int
compare_times(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

void
sweep_settle(struct sweep *sweep)
{
	const struct sweep_point *first = NULL;

	for (size_t i = 0; i < sweep->count; i++) {
		struct sweep_point *point = &sweep->points[i];
		const unsigned middle = point->runs / 2;

		qsort(point->seconds, point->runs, sizeof(*point->seconds), compare_times);
		point->median = point->runs % 2 ? point->seconds[middle]
		                                : (point->seconds[middle - 1] + point->seconds[middle]) / 2;
		if (!first || first->machine != point->machine)
			first = point;
		point->first = first->threads;
		point->throughput = point->median > 0 ? first->median / point->median : 0;
	}
}
