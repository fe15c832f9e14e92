/*
 * status.h - what dcpid says about itself: the JSON of `dcpictl status --json`
 *
 * The schema is dcpictl-status/1, described in dcpictl(1). Fields may be added to it, none changes its meaning.
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_STATUS_H
#define DCPI_COLLECTORD_STATUS_H

#include <jansson.h>
#include <stdint.h>

#include "collectord/collection.h"

/* What the collection does not know. */
struct status_process {
	uint64_t since_ns;    /* when dcpid began to collect, ns since 1970 */
	uint64_t elapsed_ns;  /* since then, by a clock that nobody sets */
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
