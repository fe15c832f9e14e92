/*
 * keep.h - dcpictl keep: epochs of which nothing is dropped
 */
#ifndef DCPI_TOOLS_CTL_KEEP_H
#define DCPI_TOOLS_CTL_KEEP_H

#include <stdbool.h>

/*
 * Keep the epochs of the database in `directory` that `which` says - a number, a label of an epoch, latest, or the
 * label of processes - or no longer (`is_kept` is false), also beside a dcpid; NULL: nothing changes. Print those that
 * are kept. The exit status.
 */
int keep_epochs(const char *directory, const char *which, bool is_kept);

#endif
