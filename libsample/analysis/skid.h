/*
 * skid.h - how many instructions behind the one that held up retirement the samples of an event lie
 *
 * It is not a property of the CPU alone: a timer's interrupt and a counter's come late, what a PMU records itself
 * (PEBS, IBS, SPE) lies where it happened.
 * Thread rule: stateless.
 */
#ifndef DCPI_ANALYSIS_SKID_H
#define DCPI_ANALYSIS_SKID_H

#include "code/pipeline.h"
#include "profile/selection.h"

enum skid_source {
	SKID_NONE,    /* what was counted or emulated lies where it is */
	SKID_PRECISE, /* recorded by the PMU: 0, or 1 for PEBS without a higher level, which records the next
	                 instruction */
	SKID_TIMER,   /* pipeline->timer_skid */
	SKID_PMU,     /* pipeline->pmu_skid */
	SKID_ASSUMED, /* a counter's, for which the pipeline says nothing: taken to be the timer's */
	SKID_SOURCES,
};

struct skid {
	unsigned instructions;
	enum skid_source source;
	bool differs; /* other epochs have samples of the event with another skid: it is that of the newest */
};

/* The skid of one event as it was sampled on `cpu` (epoch.cpu). */
struct skid skid_of_event(const struct event *event, const char *cpu, const struct pipeline *pipeline);

/* The skid of the event called `name` in the selected epochs, up to the newest with a sample that matches. */
struct skid skid_of_selection(const struct selection *selection, const char *name, const struct pipeline *pipeline);

#endif
