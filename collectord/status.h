/*
 * status.h - the state of dcpid: the JSON of `dcpictl status --json`, and sentences on what is wrong
 *
 * The sentences go to the service manager and the log as well.
 * The schema is dcpictl-status/1, described in dcpictl(1). Fields may be added to it, none changes its meaning.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_STATUS_H
#define DCPI_COLLECTORD_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/collection.h"

#define STATUS_SENTENCE_SIZE 1024 /* of a sentence; what is longer is cut */

/* Why the database in `directory` cannot be written, and the command that mends it where there is one. */
void status_explain_error(const char *directory, int err, char *text, size_t size);

/*
 * The `index`-th sentence on what is wrong, the worst first: "cannot write /var/lib/dcpi: No space left on device;
 * 12345 samples kept in memory, 0 dropped since 10:02" (local time). False when there are no more.
 */
bool status_health(const struct collection_view *view, unsigned index, char *text, size_t size);

/* What the collection does not know. */
struct status_process {
	uint64_t since_ns;    /* when dcpid began to collect, ns since 1970 */
	uint64_t elapsed_ns;  /* since then, by CLOCK_MONOTONIC */
	uint64_t cpu_time_ns; /* of dcpid */
	uint64_t resident_bytes;
	uint64_t own_bytes; /* of it, what is in no file */
	const char *socket;
};

/* A new object, NULL when memory ends. */
json_t *status_json(const struct collection_view *view, const struct status_process *process);

/* Share of the machine's processor time that dcpid used, in percent; 0 for no time or no CPUs. */
double status_overhead_percent(uint64_t cpu_time_ns, uint64_t elapsed_ns, uint64_t cpu_count);

#endif
