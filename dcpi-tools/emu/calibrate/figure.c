#include "dcpi-tools/emu/calibrate/figure.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

struct figure
figure_least(double *runs, size_t count)
{
	struct figure figure = {0};

	if (count == 0)
		return figure;
	qsort(runs, count, sizeof(*runs), compare);
	figure.value = runs[0];
	if (figure.value > 0)
		figure.spread = runs[count / 4] / figure.value - 1;
	return figure;
}

const char *
figure_sureness(const struct figure *figure)
{
	if (figure->spread <= FIGURE_SURE)
		return "sure";
	return figure->spread <= FIGURE_ROUGH ? "roughly" : "doubtful";
}
