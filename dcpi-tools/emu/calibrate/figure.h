/*
 * figure.h - a measured figure, and how sure it is
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_CALIBRATE_FIGURE_H
#define DCPI_TOOLS_EMU_CALIBRATE_FIGURE_H

#include <stddef.h>

#define FIGURE_SURE  0.03 /* spreads up to it; and up to */
#define FIGURE_ROUGH 0.15

struct figure {
	double value;
	double spread; /* relative to value; 0: it was not measured, or cannot vary */
};

/*
 * The least of some runs, each of which other programs can only have made longer; the spread is how much more the run
 * took that a quarter of them did not take. `runs` is sorted. No runs: zeros.
 */
struct figure figure_least(double *runs, size_t count);

/* "sure", "roughly" or "doubtful", by the spread. */
const char *figure_sureness(const struct figure *figure);

#endif
