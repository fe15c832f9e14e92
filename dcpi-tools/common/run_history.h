/*
 * run_history.h - how much runs of programs differ on this machine, by the labels that its database has
 *
 * dcpilabel(1) calls the runs of a program NAME.1, NAME.2, ...: a series. Of the series that are not compared, those
 * with the most runs are read, and each shows by how much its procedures vary from run to run. Where a comparison has
 * too few rows to estimate this noise, the history is its prior, with what variation.c states. One half of the noise's
 * variance is taken to be the machine's, which all series have in common, and the other half a program's.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_RUN_HISTORY_H
#define DCPI_TOOLS_RUN_HISTORY_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/variation.h"
#include "dcpi-tools/common/profile_set.h"

struct run_history {
	struct noise_prior prior; /* that of any machine, if there are no series */
	size_t series, runs;      /* that it is from */
};

/*
 * Read the history of the database of the first set, of samples of `event`, without series of which a run is in one of
 * the sets (their labels, patterns allowed). An exit status: 0, or another after a message.
 */
int run_history_read(struct run_history *history, const struct profile_sets *sets, const char *event);

/* Do these rows leave the noise so uncertain that the history matters? */
bool run_history_matters(const struct variation *variation);

/* "3%, which is usual of runs", or "1.4%, by 24 runs of 3 other programs here". */
void run_history_print(const struct run_history *history, FILE *stream);

#endif
