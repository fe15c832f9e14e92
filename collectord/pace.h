/*
 * pace.h - does sampling keep to its limit, and when is it to be looked at again?
 *
 * A limit may be passed for a moment: a flush writes the kernel's names, processes come in a storm. Only what lasts for
 * PACE_PATIENCE looks in a row makes sampling slower. Whether it could be faster, or an event that turned out to be
 * rare more often, is asked seldom, as each change begins an epoch.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_PACE_H
#define DCPI_COLLECTORD_PACE_H

#include <stdint.h>

#define PACE_LOOK_NS   UINT64_C(5000000000)   /* a look at less would say little */
#define PACE_REVIEW_NS UINT64_C(600000000000) /* between two reviews */
#define PACE_PATIENCE  3
#define PACE_SLACK     1.2 /* what is more than so many times the limit is too much */

enum pace_verdict {
	PACE_KEEP,
	PACE_SLOW_DOWN, /* it cost too much at each of the last PACE_PATIENCE looks */
	PACE_REVIEW,    /* choose the rates again, from what was seen since the last review */
};

struct pace {
	unsigned over;      /* looks in a row at which it cost too much */
	uint64_t review_ns; /* since the last review */
};

/* One look, at what sampling cost in the last `elapsed_ns`: shares of the machine, in percent. */
enum pace_verdict pace_judge(struct pace *pace, double percent, double limit_percent, uint64_t elapsed_ns);

#endif
