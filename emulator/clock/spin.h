/*
 * spin.h - a little time is spent on the host, without giving the processor away
 *
 * Thread rule: any thread. Shorter spans than a look at the clock takes are counted, not looked at.
 */
#ifndef DCPI_EMULATOR_SPIN_H
#define DCPI_EMULATOR_SPIN_H

#include <stdint.h>

/* How long one turn of the spin takes, in ns: the least of several measurements. Takes a few milliseconds. */
double spin_calibrate(void);

/* Spend `ns`. Most of a long span is slept, so that others have the processor. */
void spin_for(uint64_t ns, double ns_per_spin);

#endif
