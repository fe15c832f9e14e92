/*
 * status.h - print dcpid's status (dcpictl-status/1) for `dcpictl status`, for people and for Prometheus
 *
 * Missing fields count as 0 or "", because an older daemon may reply. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CTL_STATUS_H
#define DCPI_TOOLS_CTL_STATUS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define STATUS_NUMBER_SIZE 32

/* Print `status`, as seen at `now_ns`, to `stream`. 0, or -EIO. */
int status_print(const json_t *status, uint64_t now_ns, FILE *stream);

/* "3,982,211" into `text`, which it returns. */
const char *status_format_count(uint64_t count, char text[STATUS_NUMBER_SIZE]);

/* "14.2 MiB", "2 GiB", "512 bytes" into `text`, which it returns. */
const char *status_format_size(uint64_t bytes, char text[STATUS_NUMBER_SIZE]);

/*
 * Print `status` as metrics in Prometheus' text format (version 0.0.4); NULL: no dcpid runs, which is a metric, too.
 * Counters come from the totals of the status and only grow while dcpid runs; values that the status lacks are left
 * out. Man page: dcpictl(1), METRICS. 0, or -EIO.
 */
int status_print_metrics(const json_t *status, uint64_t now_ns, FILE *stream);

/* Print it into the file at `path`, which is replaced as a whole and may be read by everybody. 0 or -errno. */
int status_write_metrics(const json_t *status, uint64_t now_ns, const char *path);

#endif
