/*
 * gather.h - the samples of all sets, before they are compared
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_STATS_GATHER_H
#define DCPI_TOOLS_STATS_GATHER_H

#include "dcpi-tools/stats/report.h"

/* Find out what sets there are and fill the report's details and rows. An exit status: 0, or another after a message.
 */
int gather_sets(struct report *report);

#endif
