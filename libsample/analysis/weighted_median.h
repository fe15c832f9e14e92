/* weighted_median.h - the value that half of the weight is below, half above. No state: any thread. */
#ifndef DCPI_ANALYSIS_WEIGHTED_MEDIAN_H
#define DCPI_ANALYSIS_WEIGHTED_MEDIAN_H

#include <stddef.h>

struct weighted {
	double value;
	double weight; /* not negative */
};

/* The median of those with some weight; 0 when there is none. Sorts them. */
double weighted_median(struct weighted *list, size_t count);

#endif
