/*
 * sample_cost.h - what taking one sample costs the CPU it is taken on, measured
 *
 * A thread that stays on one CPU repeats a short step and reads the clock after each, while the event samples that CPU.
 * A step with a sample takes longer, and is found by the time of the sample. The cost of a sample is how much longer
 * such steps take than the others, in the median of the quietest quarter. It includes all that a user loses: the
 * interrupt, the sample's way into its ring, the new start of the timer, and the hypervisor's part in them. It does not
 * include that the program finds its caches colder. Thread rule: stateless, but the calling thread is bound to a CPU
 * for as long as it takes. A thread that may not bind itself measures on its current CPU, and again if it was moved
 * meanwhile.
 */
#ifndef DCPI_COLLECTORD_SAMPLE_COST_H
#define DCPI_COLLECTORD_SAMPLE_COST_H

#include <stdint.h>

#include "event/event.h"

struct sample_cost {
	uint64_t cost_ns;
	uint64_t count_rate; /* what the event counted in a second of busy CPU while it was measured */
	unsigned samples;    /* that were looked at */
};

/*
 * Measure `event`, of which only the encoding, precise, the modes, and the name for the CPUs of its PMU matter: one
 * that a loop of arithmetic, or for page-faults the touching of memory, makes happen. Takes about 15 ms of processor
 * time and at most 60 ms, of a thread that is moved up to three times as much. 0; -EAGAIN when too few samples came to
 * tell; or why the event could not be opened or read, or the thread not bound (-EPERM: to a CPU that counts the event).
 */
int sample_cost_measure(const struct event *event, const struct event_features *features, struct sample_cost *cost);

#endif
