/*
 * describe.h - the epoch that a recording becomes
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_IMPORT_DESCRIBE_H
#define DCPI_TOOLS_IMPORT_DESCRIBE_H

#include "dcpi-tools/import/events.h"
#include "dcpi-tools/import/perf_import.h"

/* All of it but for its number and its times. */
void describe_epoch(const struct perf_data_machine *machine, const struct perf_import_request *request,
                    const struct import_events *events, struct epoch *epoch);

#endif
