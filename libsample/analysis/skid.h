/*
 * skid.h - the distance, in instructions, of an event's samples behind the instruction that held up retirement
 *
 * The skid is not a property of the CPU alone: interrupts of timers and of counters come late, but samples that a PMU
 * records itself (PEBS, IBS, SPE) are where the event happened.
 * Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_SKID_H
#define DCPI_ANALYSIS_SKID_H

#include "code/pipeline.h"
#include "profile/selection.h"

enum skid_source {
	SKID_NONE,    /* counted or emulated: no skid */
	SKID_PRECISE, /* recorded by the PMU: 0, or 1 for PEBS without a higher level, which records the next
	                 instruction */
	SKID_TIMER,   /* pipeline->timer_skid */
	SKID_PMU,     /* pipeline->pmu_skid */
	SKID_ASSUMED, /* of a counter, not in the pipeline's file: the timer's is assumed */
	SKID_SOURCES,
};

struct skid {
	unsigned instructions;
	enum skid_source source;
	bool differs; /* other epochs have samples of the event with another skid; this is the newest one's */
};

/* The skid of one event as it was sampled on `cpu` (epoch.cpu). */
struct skid skid_of_event(const struct event *event, const char *cpu, const struct pipeline *pipeline);

/* The skid of the event called `name` in the selected epochs, up to the newest with a sample that matches. */
struct skid skid_of_selection(const struct selection *selection, const char *name, const struct pipeline *pipeline);

#endif
