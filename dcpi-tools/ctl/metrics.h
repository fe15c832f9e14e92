/*
 * metrics.h - `dcpictl status --prometheus`: the status as metrics in Prometheus' text format (version 0.0.4)
 *
 * Counters come from the status' totals and only grow while dcpid runs. Man page: dcpictl(1), METRICS.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_METRICS_H
#define DCPI_TOOLS_CTL_METRICS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Print `status` (dcpictl-status/1), as seen at `now_ns`; NULL: no dcpid runs, which is a metric, too. What the status
 * of an older daemon does not have is left out. 0, or -EIO.
 */
int metrics_print(const json_t *status, uint64_t now_ns, FILE *stream);

/* Print it into the file at `path`, which is replaced as a whole and may be read by everybody. 0 or -errno. */
int metrics_write(const json_t *status, uint64_t now_ns, const char *path);

#endif
