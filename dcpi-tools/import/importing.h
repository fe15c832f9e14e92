/*
 * importing.h - a recording on its way into a database: what the files of perf_import.h share
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_IMPORTING_H
#define DCPI_TOOLS_IMPORT_IMPORTING_H

#include "dcpi-tools/import/events.h"
#include "dcpi-tools/import/pending.h"
#include "dcpi-tools/import/perf_import.h"
#include "stream/time_order.h"

struct importing {
	const struct perf_import_request *request;
	struct perf_import_report *report;
	struct perf_data *data;
	struct time_order *order;
	bool is_ordered; /* records have times */
	struct attribution *attribution;
	struct build_ids *build_ids;
	struct import_events events; /* once it has begun */
	bool has_begun;
	struct pending pending;
	uint64_t first_ns, last_ns; /* of samples, by the recording's clock */
	uint64_t samples, records;
	uint64_t size; /* of the file; 0: not known */
	struct progress progress;
};

/* Count a sample, and the branches that were recorded with it. 0, -ENOMEM, -ENOSPC. */
int importing_count(struct importing *importing, const struct record *record, const struct import_slot *slot);

#endif
