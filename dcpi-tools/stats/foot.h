/*
 * foot.h - what stands below the table of dcpistats
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_STATS_FOOT_H
#define DCPI_TOOLS_STATS_FOOT_H

#include "dcpi-tools/stats/report.h"

/* 0 or -ENOMEM. */
int foot_print(const struct report *report, const struct output *output);

#endif
