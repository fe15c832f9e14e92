/*
 * run_history.h - how much runs of programs differ on this machine, from the labels in its database
 *
 * dcpilabel(1) calls the runs of a program NAME.1, NAME.2, ...: a series. Of the series that are not compared, those
 * with the most runs are read, and each shows how much its procedures vary from run to run. If a comparison has too few
 * rows to estimate this noise, the history is its prior, together with the assumptions in variation.c. Half of the
 * variance of the noise is assumed to be the machine's, which all series share, and half the program's.
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
	size_t series, runs;      /* from which it was estimated */
};

/*
 * Read the history of samples of `event` from the database of the first set, except series with a run in one of the
 * sets (whose labels may be patterns). An exit status: 0, or another after a message.
 */
int run_history_read(struct run_history *history, const struct profile_sets *sets, const char *event);

/* Whether these rows leave the noise so uncertain that the history matters. */
bool run_history_matters(const struct variation *variation);

/* "3%, a typical value of runs", or "1.4%, by 24 runs of 3 other programs here". */
void run_history_print(const struct run_history *history, FILE *stream);

#endif
