/*
 * precise.h - what precise_ip means here
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_PRECISE_H
#define DCPI_EVENT_PRECISE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

/*
 * A PMU that tells its levels (caps/max_precise, all of x86 since linux 4.14) refuses what it has not. Others, arm64's
 * for one, take any level and mean nothing by it: false when there are PMUs and none tells. Without PMUs, or without
 * sysfs, nothing is known: true.
 */
bool precise_may_be_asked(const char *sysfs);

/*
 * AMD's IBS counts in steps of 16. Where it is, the kernel hands every event with a precise_ip on to it; since
 * linux 6.15 it refuses other periods, and before it cut them off without a word. 16 for what ends there, else 0: any
 * period.
 */
uint32_t precise_period_step(const char *sysfs, const struct event *event);

#endif
