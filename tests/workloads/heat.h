/* heat.h - the shared library of the workloads: two functions that only burn time, 75 and 25 % of it */
#ifndef DCPI_TESTS_HEAT_H
#define DCPI_TESTS_HEAT_H

#include <stdint.h>

/* Runs a relaxation over a table of its own; returns a number that depends on all of it. */
double heat_relax(void);

/* Hashes a table of its own; about a third of the time of heat_relax(). */
uint64_t heat_hash(void);

#endif
