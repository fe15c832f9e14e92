/*
 * precise.h - whether precise_ip means anything here
 *
 * Private to the room. Thread rule: stateless.
 */
#ifndef DCPI_EVENT_PRECISE_H
#define DCPI_EVENT_PRECISE_H

#include <stdbool.h>

/*
 * A PMU that tells its levels (caps/max_precise, all of x86 since linux 4.14) refuses what it has not. Others, arm64's
 * for one, take any level and mean nothing by it: false when there are PMUs and none tells. Without PMUs, or without
 * sysfs, nothing is known: true.
 */
bool precise_may_be_asked(const char *sysfs);

#endif
